"""Keep the components, the user and the controller of a stored AppWrapper unchanged."""

from collections.abc import Iterator
from typing import Final

from shared.api.component_digest import replicas_of
from shared.api.findings import FieldError, FieldErrorKind
from shared.api.names import LABEL_MAX_EXEC_TIME
from shared.api.objects import JsonObject, JsonValue, labels
from webhook.admission_review import AdmissionRequest
from webhook.rules.json_patch import first_difference
from webhook.rules.submission import Submission, spec_of
from webhook.rules.user import changed_user_fields

_IMMUTABLE: Final = "cannot change"
_INSTEAD: Final = (
    ": delete the AppWrapper and create it again, or run `kubectl replace --force -f FILE`"
)
# Phases of an AppWrapper that has quota or is releasing it.
_WITH_PODS: Final = ("Resuming", "Running", "Resetting", "Suspending")


def check_immutability(submission: Submission) -> Iterator[FieldError]:
    """Reject changes of components, user and `managedBy` of a stored AppWrapper.

    On UPDATE. Every change of an immutable field is an error of its own.

    Kueue writes spec.components through its own Go types: it adds and removes podSetInfos, rewrites
    fields and drops unknown ones. So the rule compares templates as JSON, pod sets by path and
    replicas, and nothing else of a component.
    """
    instead = _INSTEAD
    for path, detail in _changes(submission.request):
        yield FieldError(path, FieldErrorKind.FORBIDDEN, f"{detail}{instead}")
        instead = ""  # once
    yield from _check_max_exec_time(submission.old_object or {}, submission.object)


# The path of an immutable field, and what is wrong with it.
_Change = tuple[str, str]


def _changes(request: AdmissionRequest) -> Iterator[_Change]:
    old = request.old_object or {}
    yield from _check_components(_elements(old), _elements(request.object))
    for field in changed_user_fields(request):
        yield field, _IMMUTABLE
    if spec_of(old).get("managedBy") != spec_of(request.object).get("managedBy"):
        yield "spec.managedBy", _IMMUTABLE


def _check_max_exec_time(old: JsonObject, new: JsonObject) -> Iterator[FieldError]:
    """Keep the label while pods may exist. Kueue allows its removal as soon as it suspends."""
    if LABEL_MAX_EXEC_TIME not in labels(old) or LABEL_MAX_EXEC_TIME in labels(new):
        return
    phase = (old.get("status") or {}).get("phase")
    if phase in _WITH_PODS:
        detail = (
            "cannot be removed before the AppWrapper is Suspended: the label limits how long its "
            "terminating pods run"
        )
        path = f"metadata.labels[{LABEL_MAX_EXEC_TIME}]"
        yield FieldError(path, FieldErrorKind.FORBIDDEN, detail)


def _check_components(old: JsonValue, new: JsonValue) -> Iterator[_Change]:
    path = "spec.components"
    if not isinstance(old, list) or not isinstance(new, list):
        if first_difference(old, new) is not None:
            yield path, _IMMUTABLE
        return
    if len(old) != len(new):
        yield path, f"{_IMMUTABLE} (components before: {len(old)}, now: {len(new)})"
        return
    for index, (before, after) in enumerate(zip(old, new, strict=True)):
        yield from _check_component(f"{path}[{index}]", _object(before), _object(after))


def _check_component(path: str, old: JsonObject, new: JsonObject) -> Iterator[_Change]:
    place = first_difference(old.get("template"), new.get("template"))
    if place is not None:
        difference = f" (it differs at template{place})" if place else ""
        yield f"{path}.template", f"{_IMMUTABLE}{difference}"
    before, after = old.get("podSets") or [], new.get("podSets") or []
    if not isinstance(before, list) or not isinstance(after, list) or len(before) != len(after):
        yield f"{path}.podSets", _IMMUTABLE
        return
    for index, (one, other) in enumerate(zip(before, after, strict=True)):
        here = f"{path}.podSets[{index}]"
        if first_difference(_object(one).get("path"), _object(other).get("path")) is not None:
            yield f"{here}.path", _IMMUTABLE
        if first_difference(replicas_of(_object(one)), replicas_of(_object(other))) is not None:
            yield f"{here}.replicas", _IMMUTABLE


def _elements(target: JsonObject) -> JsonValue:
    return spec_of(target).get("components") or []


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
