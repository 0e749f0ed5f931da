"""The wire format of error files, beside Flyte's own classes (case 3)."""

from dataclasses import replace

import pytest
from flyteidl.core import errors_pb2, execution_pb2
from google.protobuf.message import DecodeError
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.builders.error_records import FULL, RECORDS
from worker.error_document import BadErrorDocument, decode, encode
from worker.record import SYSTEM, UNKNOWN, USER, ErrorRecord

ORIGINS = {
    UNKNOWN: execution_pb2.ExecutionError.UNKNOWN,
    USER: execution_pb2.ExecutionError.USER,
    SYSTEM: execution_pb2.ExecutionError.SYSTEM,
}


def by_flyte(record: ErrorRecord) -> bytes:
    """What Flyte's own classes write of the first six fields."""
    document = errors_pb2.ErrorDocument()
    document.error.code = record.code
    document.error.message = record.message
    document.error.kind = int(record.recoverable)
    document.error.origin = ORIGINS[record.origin]
    if record.time_ns is not None:
        document.error.timestamp.FromNanoseconds(record.time_ns)
    document.error.worker = record.worker
    return bytes(document.SerializeToString())


@given(RECORDS)
@example(FULL)
def test_flyte_reads_what_we_write(record: ErrorRecord) -> None:
    error = errors_pb2.ErrorDocument.FromString(encode(record)).error
    assert (error.code, error.message, error.worker) == (
        record.code,
        record.message,
        record.worker,
    )
    assert error.kind == int(record.recoverable)
    assert error.origin == ORIGINS[record.origin]
    assert error.HasField("timestamp") == (record.time_ns is not None)
    assert error.timestamp.seconds * 10**9 + error.timestamp.nanos == (record.time_ns or 0)


@given(RECORDS)
@example(FULL)
def test_we_read_what_flyte_writes(record: ErrorRecord) -> None:
    assert decode(by_flyte(record)) == ErrorRecord(
        code=record.code,
        message=record.message,
        recoverable=record.recoverable,
        origin=record.origin,
        time_ns=record.time_ns,
        worker=record.worker,
    )


@given(RECORDS)
@example(FULL)
def test_we_read_what_we_write(record: ErrorRecord) -> None:
    assert decode(encode(record)) == replace(record, uri="")


def test_flyte_keeps_our_extensions_when_it_writes_a_document_again() -> None:
    again = errors_pb2.ErrorDocument.FromString(encode(FULL)).SerializeToString()
    assert decode(again) == replace(FULL, uri="")


def test_a_file_without_a_timestamp_has_no_time() -> None:
    assert decode(by_flyte(ErrorRecord(code="SYSTEM"))) == ErrorRecord(code="SYSTEM")


def test_flytes_empty_timestamp_is_none() -> None:
    document = errors_pb2.ErrorDocument()
    document.error.code = "SYSTEM"
    document.error.timestamp.SetInParent()
    assert decode(document.SerializeToString()).time_ns is None


@pytest.mark.parametrize(
    ("seconds", "nanos"),
    [(-5, 0), (253_402_300_800, 0), (2**62, 0), (1_700_000_000, -1), (1_700_000_000, 10**9)],
)
def test_a_time_that_cannot_be_is_none(seconds: int, nanos: int) -> None:
    document = errors_pb2.ErrorDocument()
    document.error.code = "SYSTEM"
    document.error.timestamp.seconds = seconds
    document.error.timestamp.nanos = nanos
    assert decode(document.SerializeToString()).time_ns is None


@pytest.mark.parametrize("number", [-1, 2**31, 2**63 - 1, -(2**63)])
def test_numbers_that_cannot_be_are_absent(number: int) -> None:
    record = ErrorRecord(code="x", attempt=number, rank=number, exit_code=number, signal=number)
    assert decode(encode(record)) == ErrorRecord(code="x")


def test_lone_surrogates_become_question_marks() -> None:
    assert decode(encode(ErrorRecord(code="x", message="a\ud800b"))).message == "a?b"


def test_an_unknown_kind_is_not_recoverable_and_an_unknown_origin_unknown() -> None:
    # error { code: "x"  kind: 7  origin: 9 }
    record = decode(b"\x0a\x07\x0a\x01x\x18\x07\x20\x09")
    assert record == ErrorRecord(code="x")


def test_unknown_fields_and_known_ones_of_another_type_are_skipped() -> None:
    unknown = b"\xc2\x3e\x02hi" + b"\x1d\x00\x00\x00\x00" + b"\xc9\x3e" + bytes(8) + b"\x08\x05"
    error = b"\x0a\x01x" + unknown
    assert decode(b"\x0a" + bytes([len(error)]) + error) == ErrorRecord(code="x")


def test_an_error_in_parts_is_merged() -> None:
    parts = encode(ErrorRecord(code="a", message="m")) + encode(ErrorRecord(code="b"))
    assert decode(parts) == ErrorRecord(code="b", message="m")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the document contains no error"),
        (b"\x0a\x00", "the document contains no error"),
        (b'{"error": "x"}', "wire type 3 is not known"),
        (b"\x0a\x05\x0a\x03x", "field 1 is truncated"),
        (b"\x0a\x03\x0a\x01\xff", "field 1 is not UTF-8"),
        (b"\x00\x00", "no field has the number 0"),
        (b"\xff" * 20, "a number is truncated or longer than 64 bits"),
    ],
)
def test_a_malformed_document_is_refused_by_name(content: bytes, reason: str) -> None:
    with pytest.raises(BadErrorDocument) as refusal:
        decode(content)
    assert str(refusal.value) == reason


def test_every_truncation_is_noticed() -> None:
    content = encode(FULL)
    for length in range(len(content)):
        with pytest.raises(BadErrorDocument):
            decode(content[:length])


@given(st.binary(max_size=200))
def test_garbage_is_read_or_refused_by_name(content: bytes) -> None:
    try:
        decode(content)
    except BadErrorDocument:
        return
    # Flyte is stricter about nothing that we accept.
    try:
        errors_pb2.ErrorDocument.FromString(content)
    except DecodeError as error:
        pytest.fail(f"Flyte refuses what we read: {error}")


@given(st.integers(0, 400), st.binary(min_size=1, max_size=3))
def test_a_damaged_document_is_read_or_refused_by_name(position: int, damage: bytes) -> None:
    content = encode(FULL)
    damaged = content[:position] + damage + content[position + len(damage) :]
    try:
        decode(damaged)
    except BadErrorDocument:
        return
