"""Keep the pods of teams from passing as a part of the system, or of another AppWrapper."""

from collections.abc import Iterator
from typing import Final

from shared.api.findings import FieldError, FieldErrorKind, quoted
from shared.api.names import GROUP
from shared.api.objects import JsonValue, metadata
from shared.kinds.kind import value_or_none
from shared.kinds.table import record_of
from webhook.rules.submission import (
    Submission,
    spec_of,
)

_OURS: Final = f"{GROUP}/"
_SYSTEM: Final = "system-"


def check_pod_labels(submission: Submission) -> Iterator[FieldError]:
    """Reject labels under the operator's prefix on pods of team namespaces that no pod set covers.

    In team namespaces, where nothing overwrites them: in pod templates without a pod set, and in
    labels that an operator adds to those of the templates. In pod templates with a pod set the
    webhook and the controller overwrite them, so that copies of stored AppWrappers can be applied.
    """
    for component in submission.of_team:
        for path, template in component.other_pod_templates:
            place = component.place(f"{path}.metadata.labels")
            yield from _claimed(place, metadata(template).get("labels"))
        if (kind := component.record) is not None:
            for path in kind.pod_labels(component.template):
                found = value_or_none(component.template, path)
                yield from _claimed(component.place(path), found)


def _claimed(path: str, labels: JsonValue) -> Iterator[FieldError]:
    for key in labels if isinstance(labels, dict) else ():
        if key.startswith(_OURS):
            yield FieldError(
                f"{path}[{key}]",
                FieldErrorKind.FORBIDDEN,
                "its pods would count as pods of an AppWrapper: remove this label",
            )


def check_priority_classes(submission: Submission) -> Iterator[FieldError]:
    """Reject the priority classes `system-*` in team namespaces.

    In every pod template. Such pods would evict all other pods from the nodes, and Kueue would
    preempt all other workloads for them.
    """
    for component in submission.of_team:
        for path, template in component.all_pod_templates:
            place = component.place(f"{path}.spec.priorityClassName")
            yield from _as_system(place, spec_of(template).get("priorityClassName"))
        for path in record_of(component.group_kind).priority_classes:
            found = value_or_none(component.template, path)
            yield from _as_system(component.place(path), found)


def _as_system(path: str, priority_class: JsonValue) -> Iterator[FieldError]:
    if isinstance(priority_class, str) and priority_class.startswith(_SYSTEM):
        detail = "system- classes are for the platform's own pods: name another class, or none"
        yield FieldError(path, FieldErrorKind.INVALID, detail, quoted(priority_class))
