"""The wire format of `error-<pod name>.pb`: Flyte's ErrorDocument, and what we add to it.

`error_document.proto` beside this file describes it. Flyte's own classes read what `encode`
returns, and ignore the fields above 100; `decode` reads Flyte's files. Nothing here needs the
protobuf package: an image that a user built may have any version of it, or none.
"""

from __future__ import annotations

from typing import Dict, List, Tuple

from worker.record import SYSTEM, UNKNOWN, USER, ErrorRecord, plausible_number, plausible_time

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_ORIGINS = (UNKNOWN, USER, SYSTEM)
_SECOND = 1_000_000_000

_ERROR = 1  # the only field of ErrorDocument
_CODE, _MESSAGE, _KIND, _ORIGIN, _TIMESTAMP, _WORKER = range(1, 7)
_POD_UID, _ATTEMPT, _RANK, _EXIT_CODE, _SIGNAL = range(101, 106)
_COLLATERAL, _PRECISION_NS, _STARTED_NS, _RECORD_ID = range(106, 110)

_Fields = Tuple[Dict[int, int], Dict[int, List[bytes]]]


class BadErrorDocument(ValueError):
    """The bytes are no ErrorDocument, or one without an error: empty, truncated or garbage."""


def encode(record: ErrorRecord) -> bytes:
    """Return `record` as a file's content. `uri` is not part of it; lone surrogates become `?`."""
    content = [
        _text(_CODE, record.code),
        _text(_MESSAGE, record.message),
        _number(_KIND, int(record.recoverable)),
        _number(_ORIGIN, _ORIGINS.index(record.origin) if record.origin in _ORIGINS else 0),
        _timestamp(record.time_ns),
        _text(_WORKER, record.worker),
        _text(_POD_UID, record.pod_uid),
        _number(_ATTEMPT, record.attempt),
        _optional(_RANK, record.rank),
        _optional(_EXIT_CODE, record.exit_code),
        _optional(_SIGNAL, record.signal),
        _number(_COLLATERAL, int(record.collateral)),
        _number(_PRECISION_NS, record.precision_ns),
        _optional(_STARTED_NS, record.started_ns),
        _text(_RECORD_ID, record.record_id),
    ]
    return _delimited(_ERROR, b"".join(content))


def decode(content: bytes) -> ErrorRecord:
    """Return the record in a file's content.

    Unknown fields are skipped. Numbers that cannot be (a negative rank, a time before 1970 or
    after 9999) count as absent, and so does a timestamp of 0, which Flyte writes for "none".
    Raises BadErrorDocument.
    """
    error = b"".join(_fields(content)[1].get(_ERROR, []))
    if not error:
        raise BadErrorDocument("the document contains no error")
    numbers, blobs = _fields(error)
    origin = numbers.get(_ORIGIN, 0)
    return ErrorRecord(
        code=_string(blobs, _CODE),
        message=_string(blobs, _MESSAGE),
        recoverable=numbers.get(_KIND, 0) == 1,
        origin=_ORIGINS[origin] if 0 <= origin < len(_ORIGINS) else UNKNOWN,
        time_ns=_time_ns(blobs),
        worker=_string(blobs, _WORKER),
        pod_uid=_string(blobs, _POD_UID),
        attempt=plausible_number(numbers.get(_ATTEMPT)) or 0,
        rank=plausible_number(numbers.get(_RANK)),
        exit_code=plausible_number(numbers.get(_EXIT_CODE)),
        signal=plausible_number(numbers.get(_SIGNAL)),
        collateral=numbers.get(_COLLATERAL, 0) != 0,
        precision_ns=max(0, numbers.get(_PRECISION_NS, 0)),
        started_ns=plausible_time(numbers.get(_STARTED_NS)),
        record_id=_string(blobs, _RECORD_ID),
    )


def _varint(value: int) -> bytes:
    """Return a 64-bit number as protobuf's int64: negative ones take ten bytes."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _delimited(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(content)) + content


def _text(field: int, text: str) -> bytes:
    return _delimited(field, text.encode("utf-8", "replace")) if text else b""


def _optional(field: int, value: int | None) -> bytes:
    """Return a field that is written even if it is 0: rank 0 is not "no rank"."""
    return b"" if value is None else _varint(field << 3 | _VARINT) + _varint(value)


def _number(field: int, value: int) -> bytes:
    return _optional(field, value or None)


def _timestamp(time_ns: int | None) -> bytes:
    """Return google.protobuf.Timestamp; nanos count forward, also before 1970."""
    if not time_ns:
        return b""
    seconds, nanos = divmod(time_ns, _SECOND)
    return _delimited(_TIMESTAMP, _number(1, seconds) + _number(2, nanos))


def _time_ns(blobs: dict[int, list[bytes]]) -> int | None:
    numbers = _fields(b"".join(blobs.get(_TIMESTAMP, [])))[0]
    nanos = numbers.get(2, 0)
    if not 0 <= nanos < _SECOND:
        return None
    return plausible_time(numbers.get(1, 0) * _SECOND + nanos)


def _string(blobs: dict[int, list[bytes]], field: int) -> str:
    try:
        return blobs[field][-1].decode() if field in blobs else ""
    except UnicodeDecodeError as error:
        raise BadErrorDocument(f"field {field} is not UTF-8") from error


def _fields(content: bytes) -> _Fields:
    """Return a message's fields: numbers (the last one written counts), and bytes in order."""
    numbers: dict[int, int] = {}
    blobs: dict[int, list[bytes]] = {}
    position = 0
    while position < len(content):
        tag, position = _read_varint(content, position)
        field, wire_type = tag >> 3, tag & 7
        if not 0 < field < 1 << 29:
            raise BadErrorDocument(f"no field has the number {field}")
        if wire_type == _VARINT:
            value, position = _read_varint(content, position)
            numbers[field] = value - (1 << 64) if value >> 63 else value
            continue
        length, position = _read_length(wire_type, content, position)
        if position + length > len(content):
            raise BadErrorDocument(f"field {field} is truncated")
        if wire_type == _BYTES:
            blobs.setdefault(field, []).append(content[position : position + length])
        position += length
    return numbers, blobs


def _read_length(wire_type: int, content: bytes, position: int) -> tuple[int, int]:
    """Return how many bytes a field's value takes, and where they begin."""
    if wire_type == _BYTES:
        return _read_varint(content, position)
    if wire_type == _FIXED64:
        return 8, position
    if wire_type == _FIXED32:
        return 4, position
    raise BadErrorDocument(f"wire type {wire_type} is not known")


def _read_varint(content: bytes, position: int) -> tuple[int, int]:
    """Return the unsigned 64-bit number at `position`, and the position after it."""
    value = 0
    for index, byte in enumerate(content[position : position + 10]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & (1 << 64) - 1, position + index + 1
    raise BadErrorDocument("a number is truncated or longer than 64 bits")
