"""Compute the status after a decision. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Final

from controller.facts.component_status import (
    deployed_status,
    fixed_name,
    named,
    recorded_pod_sets,
    with_another_name,
)
from controller.facts.kept_components import is_kept
from controller.facts.root_cause_status import encode, history_with
from controller.facts.suspects import with_suspect
from controller.phases.actions import (
    Action,
    Actions,
    ChooseAnotherName,
    MoveTo,
    PlanDeployment,
    Reason,
    RecordDeployment,
    RecordEnds,
    RecordFailures,
    RecordPodSets,
    RecordRefusal,
    RecordRemoval,
    RecordRootCause,
    RecordSuspect,
    SetCondition,
)
from controller.phases.phase import Phase
from controller.phases.root_cause import Decision
from controller.phases.snapshot import Timers
from controller.phases.timers import Stamp, encode_timers, evolve
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import is_true, with_condition
from shared.api.names import (
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_SUCCEEDED,
)
from shared.api.objects import JsonObject
from shared.waits.quota_time import QUOTA_SECONDS, quota_time

LONGEST_MESSAGE: Final = 32768  # the schema's limit
_DEPLOYED: Final = CONDITION_RESOURCES_DEPLOYED  # also the name of a component's condition


def status_after(
    appwrapper: AppWrapper, began: Timers, actions: Actions, now: datetime
) -> JsonObject:
    """Return the new status, which equals the old one if nothing changed.

    `began`: the timers that the decision is based on.
    """
    status = dict(appwrapper.status)
    for action in actions:
        _apply(appwrapper, status, action, now)
    stamp = Stamp(
        status.get("phase") or "", status.get("attempt") or 0, status.get("resettingCount") or 0
    )
    evolved = evolve(began, actions, now)
    if evolved != began or stamp.phase != appwrapper.status.get("phase"):
        stored = encode_timers(evolved, stamp)
        status.pop("timers", None)
        if stored:
            status["timers"] = stored
    return status


def _apply(appwrapper: AppWrapper, status: JsonObject, action: Action, now: datetime) -> None:
    match action:
        case MoveTo():
            status["phase"] = action.phase.value
            if action.spend_retry:
                status["resettingCount"] = appwrapper.retries + 1
        case SetCondition():
            _set_condition(appwrapper, status, action, now)
        case RecordPodSets():
            status["componentStatus"] = recorded_pod_sets(appwrapper)
        case PlanDeployment():
            status["attempt"] = appwrapper.attempt + 1
            status["componentStatus"] = _planned(appwrapper, status, now)
        case RecordDeployment(indices):
            made = _every(status) if indices is None else indices
            _mark(status, _DEPLOYED, "True", Reason.CREATED, dict.fromkeys(made, ""), now)
        case RecordRemoval(keep):
            kept = _kept(appwrapper) if keep else set()
            gone = dict.fromkeys(set(_every(status)) - kept, "")
            _mark(status, _DEPLOYED, "False", Reason.DELETED, gone, now)
        case RecordRefusal(index, message):
            words = _refused(status, index, message)
            _mark(status, _DEPLOYED, "False", Reason.CREATE_FAILED, words, now)
        case ChooseAnotherName(index):
            _rename(appwrapper, status, index)
        case _:
            _remember(appwrapper, status, action, now)


def _set_condition(
    appwrapper: AppWrapper, status: JsonObject, action: SetCondition, now: datetime
) -> None:
    """Set the condition, and add up the time with quota if it releases the quota."""
    status["conditions"] = _with(status.get("conditions") or [], action, now)
    is_false = action.type == CONDITION_QUOTA_RESERVED and not action.status
    if is_false and is_true(appwrapper.conditions, CONDITION_QUOTA_RESERVED):
        held = quota_time(appwrapper, now) or timedelta(0)
        status[QUOTA_SECONDS] = int(held.total_seconds())


def _remember(appwrapper: AppWrapper, status: JsonObject, action: Action, now: datetime) -> None:
    """Record facts that would be lost with the objects that show them."""
    match action:
        case RecordEnds(indices):
            words = dict.fromkeys(indices, "")
            _mark(status, CONDITION_SUCCEEDED, "True", Reason.ENDED_WELL, words, now)
        case RecordFailures(failures):
            words = dict(failures)
            _mark(status, CONDITION_SUCCEEDED, "False", Reason.FAILED_COMPONENT, words, now)
        case RecordSuspect(suspect):
            status["suspectNodes"] = with_suspect(status, suspect, appwrapper.attempt, now)
        case RecordRootCause():
            status.update(_root_cause(status, action, appwrapper.attempt))
        case _:
            pass


def _root_cause(status: JsonObject, action: RecordRootCause, attempt: int) -> JsonObject:
    """Return the changed status fields. The previous root cause moves to the history.

    A failure that healed is only recorded in the history.
    """
    recorded = encode(action.root_cause, attempt, action.decision)
    if action.decision is Decision.NONE:
        return {"errorHistory": history_with(status, recorded)}
    changed: JsonObject = {"rootCause": recorded}
    if history := history_with(status, status.get("rootCause") or {}):
        # The history may already contain failures that healed in a later attempt.
        changed["errorHistory"] = sorted(history, key=itemgetter("attempt"))
    return changed


def _with(
    conditions: Sequence[JsonObject], action: SetCondition, now: datetime
) -> list[JsonObject]:
    status = "True" if action.status else "False"
    message = action.message[:LONGEST_MESSAGE]
    return with_condition(conditions, action.type, status, action.reason.value, message, now)


def _planned(appwrapper: AppWrapper, status: JsonObject, now: datetime) -> list[JsonObject]:
    """Return the component statuses with every component's full name, before any create."""
    recorded = appwrapper.component_statuses
    entries = recorded if len(recorded) == len(appwrapper.components) else None
    entries = entries or recorded_pod_sets(appwrapper)
    attempt = status["attempt"]
    planned = []
    for index, (entry, component) in enumerate(zip(entries, appwrapper.components, strict=True)):
        deployed, conditions = "Unknown", []
        if is_kept(component) and deployed_status(entry) == "True":
            # Recorded as deployed; the next pass checks whether it still exists.
            deployed, conditions = "True", entry["conditions"]
        # Drop the conditions of an earlier attempt: they report how that attempt ended.
        fresh = _named(appwrapper, entry, component, attempt, index) | {"conditions": conditions}
        planned.append(
            _with_component_condition(fresh, _DEPLOYED, deployed, Reason.CREATION_INITIATED, now)
        )
    return planned


def _named(
    appwrapper: AppWrapper, entry: JsonObject, component: JsonObject, attempt: int, index: int
) -> JsonObject:
    new = named(entry, component, appwrapper.uid, attempt, index)
    # The name is kept if another operator created the component, or an earlier attempt did and
    # the component is kept.
    stays = appwrapper.status.get("phase") == Phase.RESUMING or is_kept(component)
    if stays and entry.get("name") and not fixed_name(component):
        return new | {"name": entry["name"]}
    return new


def _rename(appwrapper: AppWrapper, status: JsonObject, index: int) -> None:
    uid, attempt, component = appwrapper.uid, appwrapper.attempt, appwrapper.components[index]
    entries = list(status.get("componentStatus") or [])
    entries[index] = with_another_name(entries[index], component, uid, attempt, index)
    status["componentStatus"] = entries


def _kept(appwrapper: AppWrapper) -> set[int]:
    return {index for index, each in enumerate(appwrapper.components) if is_kept(each)}


def _every(status: JsonObject) -> range:
    return range(len(status.get("componentStatus") or ()))


def _refused(status: JsonObject, refused: int, message: str) -> dict[int, str]:
    """Return the messages of the refused component and of later ones, by index.

    The creation of the later ones was not requested, unless an earlier attempt kept them.
    """
    later = "an earlier component could not be created"
    entries = list(enumerate(status.get("componentStatus") or ()))[refused + 1 :]
    return {
        refused: message,
        **{i: later for i, entry in entries if deployed_status(entry) != "True"},
    }


def _mark(
    status: JsonObject,
    kind: str,
    value: str,
    reason: Reason,
    words: Mapping[int, str],
    now: datetime,
) -> None:
    """Set a condition of the components of these indices, each with its message."""
    status["componentStatus"] = [
        _with_component_condition(entry, kind, value, reason, now, words[index])
        if index in words
        else entry
        for index, entry in enumerate(status.get("componentStatus") or [])
    ]


def _with_component_condition(
    entry: JsonObject, kind: str, status: str, reason: Reason, now: datetime, message: str = ""
) -> JsonObject:
    conditions = entry.get("conditions") or []
    text = message[:LONGEST_MESSAGE]
    return {
        **entry,
        "conditions": with_condition(conditions, kind, status, reason.value, text, now),
    }
