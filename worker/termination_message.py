"""A record in a container's termination message: one marker, and compact JSON after it.

The kubelet keeps 4096 bytes of the file, and cuts each container's share of 12 KiB at its end. A
container runtime may write its own text before the record. So the marker may be anywhere, and the
message, which is the longest part, comes last.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Dict, Union

from worker.record import (
    SYSTEM,
    UNKNOWN,
    USER,
    ErrorRecord,
    plausible_number,
    plausible_time,
)

MARKER = "AWERR1 "
_CUT = "\n[... cut ...]\n"
_LONGEST_CODE = 120
_MOST_MARKERS = 16  # of a text: programs write what they like, and a search takes time
_KINDS = ("NON_RECOVERABLE", "RECOVERABLE")

_Facts = Dict[str, Union[str, int, bool]]
_DECODER = json.JSONDecoder()


def encode(record: ErrorRecord, budget: int) -> bytes:
    """Return the message for the termination log: at most `budget` bytes of UTF-8.

    A long message keeps its beginning and its end. If room is short, the least needed facts go
    first; empty if nothing fits (below about 150 bytes).
    """
    record = replace(record, code=record.code[:_LONGEST_CODE])
    shorter = replace(record, uri="")
    shortest = ErrorRecord(
        code=record.code[:30],
        recoverable=record.recoverable,
        time_ns=record.time_ns,
        exit_code=record.exit_code,
        collateral=record.collateral,
        message=record.message,
    )
    for candidate, room in ((record, budget // 2), (shorter, budget), (shortest, budget)):
        if len(_with_message(candidate, "")) <= room:
            return _fitted(candidate, budget)
    return b""


def find(text: str) -> ErrorRecord | None:
    """Return the first record in a termination message, or None.

    The marker may be anywhere. The complete part of a record that was cut at its end is read;
    `kind`, which decides about a retry, is written first.
    """
    position = -1
    for _ in range(_MOST_MARKERS):
        position = text.find(MARKER, position + 1)
        if position < 0:
            break
        facts = _facts_at(text, position + len(MARKER))
        if facts.get("kind") in _KINDS:
            return _record(facts)
    return None


def _facts(record: ErrorRecord) -> _Facts:
    """Return the facts before the message, without unknown ones."""
    facts: dict[str, str | int | bool | None] = {
        "kind": _KINDS[record.recoverable],
        "collateral": record.collateral or None,
        "ts_ns": record.time_ns,
        "precision_ns": record.precision_ns or None,
        "origin": record.origin,
        "code": record.code or None,
        "exit": record.exit_code,
        "signal": record.signal,
        "rank": record.rank,
        "attempt": record.attempt or None,
        "pod_uid": record.pod_uid or None,
        "worker": record.worker or None,
        "id": record.record_id or None,
        "started_ns": record.started_ns,
        "uri": record.uri or None,
    }
    return {key: value for key, value in facts.items() if value is not None}


def _with_message(record: ErrorRecord, message: str) -> bytes:
    facts = {**_facts(record), "msg": message}
    text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
    return (MARKER + text).encode("utf-8", "replace")


def _fitted(record: ErrorRecord, budget: int) -> bytes:
    room = budget - len(_with_message(record, ""))
    message = record.message
    if len(message) > room or _size(message) > room:
        room = max(0, room - _size(_CUT))
        head = _leading(message[:room], room // 3)
        tail = _leading(message[len(head) :][::-1][:room], room - _size(head))[::-1]
        message = head + _CUT + tail if tail else head
    return _with_message(record, message)


def _size(text: str) -> int:
    """Return how many bytes `text` takes between JSON's quotation marks."""
    return len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")) - 2


def _leading(text: str, room: int) -> str:
    """Return as many leading characters as fit in `room` bytes."""
    for index, character in enumerate(text):
        room -= _size(character)
        if room < 0:
            return text[:index]
    return text


def _facts_at(text: str, position: int) -> _Facts:
    """Return the whole members of the JSON object at `position`, and the rest of a cut message."""
    facts: _Facts = {}
    opened = "{"
    while text[position : position + 1] == opened:
        opened = ","
        key, position = _value_at(text, position + 1)
        if not isinstance(key, str) or text[position : position + 1] != ":":
            break
        begin = position + 1
        value, position = _value_at(text, begin)
        if value is None and key == "msg":
            value = _cut_string(text[begin:])
        if value is None:
            break
        facts[key] = value
    return facts


def _value_at(text: str, position: int) -> tuple[str | int | bool | None, int]:
    """Return the JSON string, integer or boolean at `position` and where it ends.

    None if there is none, or if it touches the end of the text, where a number may be cut.
    """
    if text[position : position + 1] in ("", "{", "["):
        return None, position
    try:
        value, end = _DECODER.raw_decode(text, position)
    except ValueError:
        return None, position
    if isinstance(value, (str, int)) and end < len(text):
        return value, end
    return None, position


def _cut_string(text: str) -> str | None:
    """Return the complete part of a cut JSON string, without an escape that was cut."""
    if not text.startswith('"'):
        return None
    for cut in range(7):
        try:
            value = json.loads(text[: len(text) - cut] + '"')
        except ValueError:
            continue
        return str(value)
    return None


def _record(facts: _Facts) -> ErrorRecord:
    origin = _string(facts, "origin")
    return ErrorRecord(
        code=_string(facts, "code"),
        message=_string(facts, "msg"),
        recoverable=facts["kind"] == _KINDS[True],
        origin=origin if origin in (USER, SYSTEM) else UNKNOWN,
        time_ns=plausible_time(facts.get("ts_ns")),
        worker=_string(facts, "worker"),
        pod_uid=_string(facts, "pod_uid"),
        attempt=plausible_number(facts.get("attempt")) or 0,
        rank=plausible_number(facts.get("rank")),
        exit_code=plausible_number(facts.get("exit")),
        signal=plausible_number(facts.get("signal")),
        collateral=facts.get("collateral") is True,
        precision_ns=plausible_time(facts.get("precision_ns")) or 0,
        started_ns=plausible_time(facts.get("started_ns")),
        record_id=_string(facts, "id"),
        uri=_string(facts, "uri"),
    )


def _string(facts: _Facts, key: str) -> str:
    """Return a fact if it is text, without lone surrogates, which no JSON encoder writes."""
    value = facts.get(key, "")
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""
