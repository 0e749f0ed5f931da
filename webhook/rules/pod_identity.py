"""Keep the pods of teams from passing as a part of the system, or of another AppWrapper."""

from collections.abc import Iterator
from typing import Final

from shared.api.findings import FieldError, FieldErrorKind, quoted
from shared.api.names import GROUP
from shared.api.objects import JsonValue, metadata
from shared.kinds.kind import value_or_none
from shared.kinds.table import record_of
from shared.waits.words import listed
from webhook.rules.submission import (
    Submission,
    spec_of,
)

_OURS: Final = f"{GROUP}/"
_SYSTEM: Final = "system-"
_MOST_NAMED: Final = 10


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
    for path, name in _priority_classes(submission):
        if name.startswith(_SYSTEM):
            detail = "system- classes are for the platform's own pods: name another class, or none"
            yield FieldError(path, FieldErrorKind.INVALID, detail, quoted(name))


def check_unknown_priority_classes(submission: Submission) -> Iterator[FieldError]:
    """Reject names of PriorityClasses that do not exist, in team namespaces.

    Kueue would make no Workload, without a message, and the AppWrapper would wait indefinitely.
    """
    known = submission.facts.priority_classes
    if known is None:
        return
    remedy = f": {_to_name_instead(known)}"
    for path, name in _priority_classes(submission):
        if name not in known and not name.startswith(_SYSTEM):
            detail = f"this cluster has no such PriorityClass{remedy}"
            yield FieldError(path, FieldErrorKind.INVALID, detail, quoted(name))
            remedy = ""  # the first error has the list


def _to_name_instead(known: frozenset[str]) -> str:
    usable = sorted(name for name in known if not name.startswith(_SYSTEM))
    if not usable:
        return "it has none that a team may use, so name none"
    if len(usable) > _MOST_NAMED:
        shown = listed(usable, _MOST_NAMED)
        return f"name one of {shown} (kubectl get priorityclasses), or none"
    return f"name {', '.join(usable)} or none"


def _priority_classes(submission: Submission) -> Iterator[tuple[str, str]]:
    """Yield the names of PriorityClasses in a team's object, each after its path."""
    for component in submission.of_team:
        found: list[tuple[str, JsonValue]] = [
            (f"{path}.spec.priorityClassName", spec_of(template).get("priorityClassName"))
            for path, template in component.all_pod_templates
        ]
        others = record_of(component.group_kind).priority_classes
        found += [(path, value_or_none(component.template, path)) for path in others]
        for path, name in found:
            if isinstance(name, str) and name:
                yield component.place(path), name
