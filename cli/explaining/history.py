"""Report the history of an AppWrapper: its attempts and a short timeline. Pure.

Clusters usually keep events for an hour, and count equal events in one object. Older history comes
from the status, as far as the status records it.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from cli.cluster.unread import objects
from cli.explaining.case import Case
from cli.explaining.report import AttemptReport, Happened
from controller.phases.phase import Phase
from controller.reports.reason import Reason
from shared.api.conditions import condition
from shared.api.names import (
    CONDITION_DELETING_RESOURCES,
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_UNHEALTHY,
)
from shared.api.objects import JsonObject
from shared.api.times import parse_time

_MOST: Final = 12
# The condition that changes when the phase begins.
_MARKS: Final = {
    Phase.SUSPENDED: (CONDITION_QUOTA_RESERVED, "False"),
    Phase.RESUMING: (CONDITION_RESOURCES_DEPLOYED, "True"),
    Phase.RUNNING: (CONDITION_RESOURCES_DEPLOYED, "True"),
    Phase.RESETTING: (CONDITION_DELETING_RESOURCES, "True"),
    Phase.SUSPENDING: (CONDITION_DELETING_RESOURCES, "True"),
    Phase.TERMINATING: (CONDITION_DELETING_RESOURCES, "True"),
    Phase.SUCCEEDED: (CONDITION_QUOTA_RESERVED, "False"),
    Phase.FAILED: (CONDITION_UNHEALTHY, "True"),
}


def phase_since(case: Case) -> datetime | None:
    """Estimate the begin of the phase from the condition that changes with it."""
    if case.phase is Phase.EMPTY:
        return case.created
    kind, status = _MARKS[case.phase]
    found = condition(case.appwrapper.conditions, kind) or {}
    if case.phase is Phase.RESETTING and case.snapshot.timers.retry_pause:
        return case.changed(CONDITION_UNHEALTHY)
    if found.get("status") != status:
        return None
    return case.changed(kind)


# Texts for the events about the AppWrapper.

_STARTED: Final = "Started"  # Kueue's event when it admits the AppWrapper
_BEGINS: Final = frozenset({_STARTED, Reason.RETRY_PAUSE_OVER.value})
_RESET: Final = "unhealthy; deleting its components before another attempt"
_FAILED: Final = "failed"
_SHORT: Final = {_RESET: "reset", _FAILED: "failed", "unhealthy: ": "unhealthy"}
_EVENT_TEXTS: Final = {
    _STARTED: "admitted: its components are created",
    Reason.RETRY_PAUSE_OVER.value: "the next attempt began",
    Reason.SUSPENDING.value: "suspended: its components are deleted",
}


def attempts(case: Case) -> tuple[AttemptReport, ...]:
    """Report each attempt, the present one last, with the causes that are recorded."""
    current = case.appwrapper.attempt
    found = {each: AttemptReport(number=each) for each in range(1, current + 1)}

    def note(attempt: object, **known: Any) -> None:
        if isinstance(attempt, int) and attempt in found:
            found[attempt] = replace(found[attempt], **known)

    note(current, **_from_status(case))
    none = AttemptReport(number=0)
    for event in reversed(own_events(case)):
        reason, message = event.get("reason"), event.get("message") or ""
        if reason in _BEGINS:
            note(current, began=event_time(event))
            # Kueue's event may come after what it began has failed.
            current = max(1, current - _count(event))
        elif reason == Reason.ROOT_CAUSE:
            note(current, root_cause=message)
        elif message.startswith((_RESET, _FAILED)) and not found.get(current, none).reason:
            why = message.partition(": ")[2] or None
            note(current, ended=event_time(event), reason=reason, message=why)
    status = case.appwrapper.status
    for each in (*(status.get("errorHistory") or ()), status.get("rootCause")):
        if isinstance(each, dict):
            note(each.get("attempt"), root_cause=each.get("summary") or each.get("message"))
    return tuple(found.values())


def _from_status(case: Case) -> dict[str, Any]:
    """Return begin and end of the latest attempt, as far as the conditions have them."""
    known: dict[str, Any] = {}
    if case.is_true(CONDITION_RESOURCES_DEPLOYED):
        known["began"] = case.changed(CONDITION_RESOURCES_DEPLOYED)
    if case.phase in (Phase.RESETTING, Phase.FAILED) and case.is_true(CONDITION_UNHEALTHY):
        reported = case.reported(CONDITION_UNHEALTHY)
        known["ended"] = case.changed(CONDITION_UNHEALTHY)
        known["reason"] = reported.reason or None
        known["message"] = reported.message or None
    if case.phase is Phase.SUCCEEDED:
        known["ended"] = case.changed(CONDITION_QUOTA_RESERVED)
        known["reason"] = Reason.SUCCEEDED.value
    return known


def timeline(case: Case) -> tuple[Happened, ...]:
    """Return the creation and the latest changes in the order of time, at most _MOST."""
    entries = [Happened(case.created, "created")]
    # `attempts` reports the root causes.
    events = [each for each in own_events(case) if each.get("reason") != Reason.ROOT_CAUSE]
    entries += [
        Happened(event_time(each), _described(each), each.get("type") == "Warning")
        for each in events
    ]
    marks: list[tuple[str, str]] = []
    if not events:
        marks += [
            (CONDITION_QUOTA_RESERVED, "Kueue granted its quota"),
            (CONDITION_UNHEALTHY, "it turned unhealthy"),
        ]
    if all(each.get("reason") not in _BEGINS for each in events):
        marks.append((CONDITION_RESOURCES_DEPLOYED, f"attempt {case.appwrapper.attempt} began"))
    if all(each.get("reason") != Reason.SUFFICIENT_PODS_READY for each in events):
        marks.append((CONDITION_PODS_READY, "all of its pods run"))
    for kind, what in marks:
        at = case.changed(kind)
        if case.is_true(kind) and at is not None:
            entries.append(Happened(at, what, kind == CONDITION_UNHEALTHY))
    if case.phase is Phase.SUCCEEDED and (at := case.changed(CONDITION_QUOTA_RESERVED)):
        entries.append(Happened(at, "succeeded"))
    entries.sort(key=lambda each: _second(each.at))
    shown = entries if len(entries) <= _MOST else [entries[0], *entries[1 - _MOST :]]
    return tuple(dict.fromkeys(shown))


def _described(event: JsonObject) -> str:
    """Shorten events about the end of an attempt: `attempts` reports the cause."""
    count, reason = _count(event), event.get("reason")
    often = f" ({count} times)" if count > 1 else ""
    message = str(event.get("message") or "")
    for opening, word in _SHORT.items():
        if message.startswith(opening):
            return f"{word} ({reason}){often}"
    if reason in _EVENT_TEXTS:
        return f"{_EVENT_TEXTS[reason]}{often}"
    return f"{reason}: {message}{often}"


def own_events(case: Case) -> list[JsonObject]:
    """Return the AppWrapper's events in the order of time, without those of a namesake.

    Events of the same second are sorted by name, which contains the recorder's time: only Kueue's
    have fractions of a second.
    """
    uid = case.appwrapper.uid
    own = [
        each
        for each in objects(case.seen.events)
        if (each.get("involvedObject") or {}).get("uid") in (uid, None, "")
    ]
    return sorted(own, key=lambda each: (_second(event_time(each)), each["metadata"]["name"]))


def _second(at: datetime) -> datetime:
    return at.replace(microsecond=0)


def event_time(event: JsonObject) -> datetime:
    """Return the latest time of an event. Kueue repeats events as series."""
    if repeated := (event.get("series") or {}).get("lastObservedTime"):
        return parse_time(repeated)
    for key in ("lastTimestamp", "eventTime", "firstTimestamp"):
        if event.get(key):
            return parse_time(event[key])
    return parse_time(event["metadata"]["creationTimestamp"])


def _count(event: JsonObject) -> int:
    return max(1, int((event.get("series") or {}).get("count") or event.get("count") or 1))
