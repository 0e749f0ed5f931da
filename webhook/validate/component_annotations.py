"""Annotations of components: `helper` (it does not count for success), `keep` (resets spare it)."""

from collections.abc import Iterator
from typing import Final

from shared.api.field_errors import FieldError, FieldErrorKind, quoted
from shared.api.json import JsonObject
from shared.api.names import ANNOTATION_HELPER, ANNOTATION_KEEP
from webhook.admission_review import AdmissionRequest
from webhook.component_pods import has_pods
from webhook.components import Component, components_of
from webhook.facts import Facts
from webhook.metadata import texts
from webhook.submission import Submission

_SWITCHES: Final = (ANNOTATION_HELPER, ANNOTATION_KEEP)
_ON: Final = "true"
_VALUES: Final = (_ON, "false")


def check_component_annotations(submission: Submission) -> Iterator[FieldError]:
    """On CREATE: those of every component."""
    for component in submission.components:
        yield from _check(component, {})


def check_changed_component_annotations(
    request: AdmissionRequest, _facts: Facts
) -> Iterator[FieldError]:
    """On UPDATE: those that the request changes."""
    stored = {each.path: each.raw for each in components_of(request.old_object or {})[0]}
    for component in components_of(request.object)[0]:
        yield from _check(component, stored.get(component.path, {}))


def is_on(component: Component, key: str) -> bool:
    """Whether the switch is on; any value but "true" means off, as to the controller."""
    return texts(component.raw.get("annotations")).get(key) == _ON


def _check(component: Component, stored: JsonObject) -> Iterator[FieldError]:
    annotations = component.raw.get("annotations")
    if not annotations:
        return
    given, before = texts(annotations), texts(stored.get("annotations"))
    for key in _SWITCHES:
        value = given.get(key)
        if value is None or value == before.get(key):
            continue
        path = f"{component.path}.annotations[{key}]"
        if value not in _VALUES:
            detail = 'must be "true" or "false"'
            yield FieldError(path, FieldErrorKind.INVALID, detail, quoted(value))
        elif key == ANNOTATION_KEEP and value == _ON and has_pods(component):
            detail = "only a component without pods can be kept: its pods would run without quota"
            yield FieldError(path, FieldErrorKind.FORBIDDEN, detail)
