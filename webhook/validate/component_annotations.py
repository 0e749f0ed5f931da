"""Annotations of components: `helper` (it does not count for success), `keep` (resets spare it)."""

from collections.abc import Iterator
from typing import Final

from shared.api.field_errors import FieldError, FieldErrorKind, quoted
from shared.api.json import JsonObject
from shared.api.names import ANNOTATION_HELPER, ANNOTATION_KEEP
from webhook.admission_review import AdmissionRequest
from webhook.component_pods import has_pods
from webhook.components import Component
from webhook.facts import Facts
from webhook.metadata import texts
from webhook.stored_components import component_pairs
from webhook.submission import Submission

_SWITCHES: Final = (ANNOTATION_HELPER, ANNOTATION_KEEP)
_ON: Final = "true"
_VALUES: Final = (_ON, "false")


def check_component_annotations(submission: Submission) -> Iterator[FieldError]:
    """Annotations of components: `helper` (it does not count for success), `keep` (resets spare
    it).

    On CREATE: those of every component.
    """
    for component in submission.components:
        yield from _check(component.path, component.raw, {})


def check_changed_component_annotations(
    request: AdmissionRequest, _facts: Facts
) -> Iterator[FieldError]:
    """Annotations of components: `helper` (it does not count for success), `keep` (resets spare
    it).

    On UPDATE: those that the request changes.
    """
    for index, (stored, sent) in enumerate(component_pairs(request)):
        yield from _check(f"spec.components[{index}]", sent, stored)


def is_on(component: Component, key: str) -> bool:
    """Whether the switch is on; any value but "true" means off, as to the controller."""
    return texts(component.raw.get("annotations")).get(key) == _ON


def _check(path: str, sent: JsonObject, stored: JsonObject) -> Iterator[FieldError]:
    given, before = texts(sent.get("annotations")), texts(stored.get("annotations"))
    for key in _SWITCHES:
        value = given.get(key)
        if value is None or value == before.get(key):
            continue
        here = f"{path}.annotations[{key}]"
        if value not in _VALUES:
            detail = 'must be "true" or "false"'
            yield FieldError(here, FieldErrorKind.INVALID, detail, quoted(value))
        elif key == ANNOTATION_KEEP and value == _ON and has_pods(sent):
            detail = "only a component without pods can be kept: its pods would run without quota"
            yield FieldError(here, FieldErrorKind.FORBIDDEN, detail)
