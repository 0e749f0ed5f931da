"""Error files as torchrun writes them in its versions, and as our hooks write them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.failure import Failure, Report
from worker.torch_errors import BadErrorFile, parse

S = 10**9


def content(message: object, **top: object) -> bytes:
    return json.dumps({"message": message, **top}).encode()


def test_the_form_with_an_object() -> None:
    facts = {"py_callstack": "Traceback…\nValueError: bad\n", "timestamp": "1795448580"}
    message = {"message": "ValueError: bad", "extraInfo": facts, "errorCode": -11}
    assert parse(content(message)) == Report(
        Failure(
            1_795_448_580 * S,
            S,
            code="ValueError",
            message="ValueError: bad\n\nTraceback…\nValueError: bad",
            is_exception=True,
            status=-11,
        )
    )


def test_the_form_with_text() -> None:
    expected = Failure(0, S, code="ValueError", message="ValueError: bad", is_exception=True)
    assert parse(content("ValueError: bad")).failure == expected
    assert parse(content("ValueError: bad", timestamp=5)).failure.time_ns == 5 * S
    assert parse(content("it broke: badly")).failure.code == "Error"


def test_fields_that_the_hooks_add() -> None:
    facts = {
        "timestamp": "1795448580",
        "timestamp_ns": 1_795_448_580_588_024_376,
        "class": "Mine",
        "recoverable": True,
        "rank": "3",
        "pid": 77,
        "thread": False,
        "failures": [],
    }
    assert parse(content({"message": "Mine: again", "extraInfo": facts})) == Report(
        Failure(
            1_795_448_580_588_024_376,
            code="Mine",
            message="Mine: again",
            recoverable=True,
            is_exception=True,
            rank=3,
        ),
        pid=77,
    )


def test_an_exception_of_a_thread_ends_a_job_only_on_request() -> None:
    facts: dict[str, object] = {"timestamp_ns": 7, "thread": True, "recoverable": None}
    report = parse(content({"message": "ValueError: x", "extraInfo": facts}))
    assert (report.thread, report.failure.recoverable) == (True, True)
    facts["recoverable"] = False
    report = parse(content({"message": "ValueError: x", "extraInfo": facts}))
    assert report.failure.recoverable is False


def test_an_exit_code_is_no_exception() -> None:
    facts = {"timestamp_ns": 7, "class": "SystemExit"}
    failure = parse(content({"message": "", "extraInfo": facts, "errorCode": 42})).failure
    assert failure == Failure(7, code="EXIT_42", status=42)


@pytest.mark.parametrize(
    ("code", "status"),
    [(-64, -64), (255, 255), ("7", 7), (-99999, None), (256, None), (9**999, None), ("x", None)],
)
def test_an_exit_code_that_no_process_has_is_left_out(code: object, status: int | None) -> None:
    message = {"message": "x", "extraInfo": {"rank": 2**31}, "errorCode": code}
    failure = parse(content(message)).failure
    assert (failure.status, failure.rank) == (status, None)


def test_a_launchers_ranks_with_and_without_a_file() -> None:
    file = {"message": {"message": "KeyError: 1", "extraInfo": {"timestamp": "1795448579"}}}
    undated = {"message": "KeyError: 2"}
    ranks = [
        {"rank": 4, "pid": 11, "exitcode": 1, "timestamp": 1795448580, "data": file},
        {
            "rank": 5,
            "pid": 12,
            "exitcode": -11,
            "timestamp": 1795448580,
            "monitor_interval": 5.0,
            "data": None,
        },
        {"rank": 6, "pid": 13, "exitcode": 1, "timestamp": 1795448580, "data": undated},
    ]
    report = parse(content({"message": "ChildFailedError", "extraInfo": {"failures": ranks}}))
    with_file, without, without_time = report.ranks
    assert with_file == (
        11,
        Failure(
            1_795_448_579 * S,
            S,
            code="KeyError",
            message="KeyError: 1",
            is_exception=True,
            rank=4,
            status=1,
        ),
    )
    assert without == (12, Failure(1_795_448_575 * S, 6 * S, rank=5, status=-11))
    assert (without_time[1].time_ns, without_time[1].message) == (
        1_795_448_580 * S,
        "KeyError: 2",
    )


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (b"", "no JSON: Expecting value: line 1 column 1 (char 0)"),
        (b'{"message": {"mess', "no JSON: "),
        (b"\xff\xfe\x00", "no JSON: "),
        (b"[" * 100_000, "no JSON: "),
        (b"[]", "the object has no message"),
        (b'{"message": 3}', "the object has no message"),
        (b'{"message": {"message": null}}', "the object has no message"),
    ],
)
def test_a_malformed_error_file_is_refused_by_name(file: bytes, reason: str) -> None:
    with pytest.raises(BadErrorFile) as refusal:
        parse(file)
    assert str(refusal.value).startswith(reason)


KEYS = st.sampled_from(
    [
        "message",
        "extraInfo",
        "errorCode",
        "timestamp",
        "timestamp_ns",
        "py_callstack",
        "class",
        "recoverable",
        "rank",
        "pid",
        "thread",
        "failures",
        "data",
        "exitcode",
        "monitor_interval",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)


@given(st.dictionaries(KEYS, JSON, max_size=4))
def test_any_json_is_read_or_refused_by_name(document: dict[str, object]) -> None:
    facts = {"message": {"message": "x", "extraInfo": document}}
    for value in (document, {"message": document}, facts):
        try:
            parse(json.dumps(value).encode())
        except BadErrorFile:
            continue
