"""Encode and decode `status.rootCause` and `status.errorHistory`. Pure.

Any client that may write the status may have changed them. The controller ignores each malformed
field, and cuts long texts.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeVar

import orjson

from controller.facts.error_text import MOST_BYTES, both_ends
from controller.phases.root_cause import (
    LONGEST_SUMMARY,
    Confidence,
    Decision,
    RootCause,
    Source,
    summary,
)
from shared.api.lines import clipped
from shared.api.objects import JsonObject
from shared.api.times import format_precise_time, format_time, parse_time

MOST_ENTRIES: Final = 5
LONGEST_ENTRY: Final = 512  # bytes of compact JSON
_LONGEST_FIELD: Final = 1024  # bytes of a text other than message and summary
_LARGEST: Final = 2**31 - 1

_Word = TypeVar("_Word", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCause:
    """`status.rootCause`, which lacks fields that only decisions need (`points_at_node`)."""

    cause: RootCause
    summary: str
    attempt: int
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One of `status.errorHistory`."""

    attempt: int
    pod: str
    summary: str
    time: datetime | None
    decision: Decision


def encode(cause: RootCause, attempt: int, decision: Decision) -> JsonObject:
    """Return `status.rootCause` without unknown values."""
    fields: JsonObject = {
        "summary": summary(cause),
        "attempt": attempt,
        "pod": cause.pod,
        "container": cause.container,
        "node": cause.node,
        "rank": _fitting(cause.rank),
        "time": _time(cause.time),
        "code": cause.code,
        "origin": cause.origin,
        "recoverable": cause.recoverable,
        "exitCode": _fitting(cause.exit_code),
        "signal": _fitting(cause.signal),
        "message": both_ends(cause.message),
        "source": cause.source.value,
        "confidence": cause.confidence.value,
        "failedPods": cause.failed_pods,
        "records": cause.records,
        "uri": cause.uri,
        "infrastructure": cause.infrastructure,
        "clockSuspect": cause.clock_suspect or None,
        "decision": decision.value,
    }
    return _without_empty(fields)


def _without_empty(fields: JsonObject) -> JsonObject:
    return {key: value for key, value in fields.items() if value is not None and value != ""}


def _fitting(number: int | None) -> int | None:
    """Return the number if it fits the CRD's 32 bits: a program may record any number."""
    return number if number is not None and -_LARGEST <= number <= _LARGEST else None


def _time(moment: datetime | None) -> str | None:
    """Return the time as text, with microseconds if it has any."""
    if moment is None:
        return None
    return format_precise_time(moment) if moment.microsecond else format_time(moment)


def decode(status: JsonObject) -> RecordedCause | None:
    """Read `status.rootCause`; None if it is missing or names no attempt."""
    found = status.get("rootCause")
    if not isinstance(found, dict) or (attempt := _number(found, "attempt")) is None:
        return None
    failed_pods, records = _number(found, "failedPods"), _number(found, "records")
    recoverable = found.get("recoverable")
    cause = RootCause(
        pod=_text(found, "pod"),
        container=_text(found, "container"),
        node=_text(found, "node"),
        rank=_number(found, "rank"),
        time=_moment(found),
        code=_text(found, "code"),
        origin=_text(found, "origin") or "Unknown",
        recoverable=recoverable if isinstance(recoverable, bool) else None,
        exit_code=_number(found, "exitCode"),
        signal=_number(found, "signal"),
        message=_text(found, "message", MOST_BYTES),
        source=_word(found, "source", Source, Source.POD_STATUS),
        confidence=_word(found, "confidence", Confidence, Confidence.INFERRED),
        failed_pods=1 if failed_pods is None else failed_pods,
        records=records or 0,
        uri=_text(found, "uri"),
        infrastructure=_text(found, "infrastructure"),
        clock_suspect=found.get("clockSuspect") is True,
    )
    return RecordedCause(
        cause=cause,
        summary=_text(found, "summary", LONGEST_SUMMARY),
        attempt=attempt,
        decision=_word(found, "decision", Decision, Decision.NONE),
    )


def _text(fields: JsonObject, key: str, limit: int = _LONGEST_FIELD) -> str:
    value = fields.get(key)
    return both_ends(value, limit) if isinstance(value, str) else ""


def _number(fields: JsonObject, key: str) -> int | None:
    value = fields.get(key)
    return _fitting(value) if isinstance(value, int) and not isinstance(value, bool) else None


def _moment(fields: JsonObject) -> datetime | None:
    try:
        return parse_time(_text(fields, "time"))
    except ValueError:
        return None


def _word(fields: JsonObject, key: str, words: type[_Word], otherwise: _Word) -> _Word:
    value = fields.get(key)
    return next((each for each in words if each.value == value), otherwise)


# The history.


def history_with(
    status: JsonObject, cause: RootCause, attempt: int, decision: Decision
) -> list[JsonObject]:
    """Return the new `status.errorHistory`: its last entries and this failure.

    It replaces an entry of the same failure. Malformed entries are dropped.
    """
    new = HistoryEntry(
        attempt=attempt,
        pod=cause.pod,
        summary=summary(cause),
        time=cause.time,
        decision=decision,
    )
    known = [each for each in history_of(status) if _failure(each) != _failure(new)]
    return [_encoded(each) for each in [*known, new][-MOST_ENTRIES:]]


def _failure(entry: HistoryEntry) -> tuple[int, str, str | None]:
    return entry.attempt, entry.pod, _time(entry.time)


def history_of(status: JsonObject) -> tuple[HistoryEntry, ...]:
    """Return the well-formed entries of `status.errorHistory`, the latest last."""
    found = status.get("errorHistory")
    listed: Iterable[object] = found if isinstance(found, list) else ()
    entries = tuple(entry for each in listed if (entry := _entry(each)) is not None)
    return entries[-MOST_ENTRIES:]


def _entry(found: object) -> HistoryEntry | None:
    if not isinstance(found, dict) or (attempt := _number(found, "attempt")) is None:
        return None
    return HistoryEntry(
        attempt=attempt,
        pod=_text(found, "pod"),
        summary=_text(found, "summary", LONGEST_SUMMARY),
        time=_moment(found),
        decision=_word(found, "decision", Decision, Decision.NONE),
    )


def _encoded(entry: HistoryEntry) -> JsonObject:
    """Cut the summary, then the pod's name, until it fits."""

    def fields(pod: str, words: str) -> JsonObject:
        told = {"attempt": entry.attempt, "time": _time(entry.time), "pod": pod, "summary": words}
        return _without_empty({**told, "decision": entry.decision.value})

    def fits(pod: str, words: str) -> bool:
        return len(orjson.dumps(fields(pod, words))) <= LONGEST_ENTRY

    pod = _longest(entry.pod, lambda each: fits(each, ""))
    return fields(pod, _longest(entry.summary, lambda each: fits(pod, each)))


def _longest(text: str, fits: Callable[[str], bool]) -> str:
    """Return as much of the text as fits: JSON may write a character in six bytes."""
    while text and not fits(text):
        text = clipped(text, min(len(text.encode()) - 1, len(text.encode()) * 9 // 10))
    return text
