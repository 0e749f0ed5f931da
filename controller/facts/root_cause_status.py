"""Encode and decode `status.rootCause`, and keep `status.errorHistory`. Pure.

Any client that may write the status may have changed them. The controller ignores each malformed
field, and cuts long texts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeVar

import orjson

from controller.facts.error_text import MOST_BYTES, both_ends
from controller.phases.root_cause import (
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
    attempt: int
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

_IN_HISTORY: Final = ("time", "pod", "summary", "decision")


def history_with(status: JsonObject, recorded: JsonObject) -> list[JsonObject]:
    """Return the new `status.errorHistory`: its last entries and this `status.rootCause`.

    It replaces an entry of the same failure. Malformed entries are dropped.
    """
    found = status.get("errorHistory")
    listed: Iterable[object] = found if isinstance(found, list) else ()
    entries: dict[tuple[int, str | None, str | None], JsonObject] = {}
    for each in (*listed, recorded):
        if (entry := _entry(each)) is not None:
            entries.pop(_failure(entry), None)
            entries[_failure(entry)] = entry
    return list(entries.values())[-MOST_ENTRIES:]


def _failure(entry: JsonObject) -> tuple[int, str | None, str | None]:
    return entry["attempt"], entry.get("pod"), entry.get("time")


def _entry(found: object) -> JsonObject | None:
    """Return its fields for the history; cut the summary, then the pod's name, until they fit."""
    if not isinstance(found, dict) or (attempt := _number(found, "attempt")) is None:
        return None
    texts = {key: found[key] for key in _IN_HISTORY if isinstance(found.get(key), str)}
    entry: JsonObject = {"attempt": attempt, **texts}
    for key in ("summary", "pod"):
        while entry.get(key) and len(orjson.dumps(entry)) > LONGEST_ENTRY:
            entry[key] = _shorter(entry[key])
    return _without_empty(entry) if len(orjson.dumps(entry)) <= LONGEST_ENTRY else None


def _shorter(text: str) -> str:
    """Cut a tenth at least: JSON may write a character in six bytes."""
    size = len(text.encode())
    return clipped(text, size * 9 // 10) if size > 10 else ""
