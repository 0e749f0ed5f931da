"""What the status keeps of root causes, and what is read of one that anybody may have written."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.facts.root_cause_status import decode, encode, history_with
from controller.phases.root_cause import Confidence, Decision, RootCause, Source

AT = datetime(2026, 1, 1, 10, 0, 10, 250_000, tzinfo=UTC)
WHOLE = RootCause(
    pod="train-worker-2",
    container="main",
    node="gpu-3",
    rank=2,
    time=AT,
    code="USER:ValueError",
    origin="User",
    recoverable=False,
    exit_code=1,
    signal=11,
    message="ValueError: bad shard\n\tat 7",
    source=Source.STORE,
    confidence=Confidence.RECORDED,
    failed_pods=4,
    records=3,
    uri="file:///errors/error-w2.pb",
    infrastructure="Evicted",
    clock_suspect=True,
)


def test_a_number_that_the_schema_does_not_take_is_omitted() -> None:
    assert "rank" not in encode(RootCause(pod="w0", rank=2**40), 1, Decision.NONE)


@pytest.mark.parametrize("cause", [WHOLE, RootCause(pod="w0", time=AT.replace(microsecond=0))])
def test_an_encoded_root_cause_is_decoded(cause: RootCause) -> None:
    read = decode({"rootCause": orjson.loads(orjson.dumps(encode(cause, 3, Decision.TERMINAL)))})
    assert read is not None
    assert read.cause == cause
    assert (read.attempt, read.decision) == (3, Decision.TERMINAL)


def test_a_stored_root_cause_with_a_runner_up_is_still_read() -> None:
    """Earlier versions stored the failure that came next, and marked a close one as ambiguous."""
    beside = {"pod": "w0", "summary": "w0: lost", "gapSeconds": -0.412}
    stored = encode(WHOLE, 3, Decision.RETRY)
    earlier = {**stored, "runnerUp": beside, "confidence": "Ambiguous"}
    read = decode({"rootCause": earlier})
    assert read is not None
    assert read.cause == replace(WHOLE, confidence=Confidence.INFERRED)


ODD = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["attempt", "pod", "summary", "gapSeconds", "time", "decision"]), inner
        ),
    ),
    max_leaves=8,
)
FIELDS = [*encode(WHOLE, 1, Decision.NONE)]


@given(st.one_of(ODD, st.dictionaries(st.sampled_from(FIELDS), ODD)), ODD)
def test_any_status_can_be_read(root: object, history: object) -> None:
    status: dict[str, Any] = {"rootCause": root, "errorHistory": history}
    read = decode(status)
    if read is not None:
        orjson.dumps(encode(read.cause, read.attempt, read.decision))
    written = history_with(status, encode(WHOLE, 1, Decision.RETRY))
    written = history_with({"errorHistory": written}, status["rootCause"])
    assert 1 <= len(written) <= 5
    assert all(len(orjson.dumps(each)) <= 512 for each in written)


def test_malformed_fields_are_read_as_absent() -> None:
    found = {
        "attempt": 2,
        "pod": 7,
        "rank": True,
        "time": "soon",
        "source": "X",
        "message": "é" * 9999,
    }
    read = decode({"rootCause": found})
    assert read is not None
    assert (read.cause.pod, read.cause.rank, read.cause.time) == ("", None, None)
    assert read.cause.source is Source.POD_STATUS
    assert len(read.cause.message.encode()) <= 2048
    odd: list[object] = [None, [], {}, {"pod": "w0"}, {"attempt": "1"}]
    for nothing in odd:
        assert decode({"rootCause": nothing}) is None
    assert decode({}) is None


def test_the_history_keeps_the_last_five() -> None:
    status: dict[str, Any] = {}
    for attempt in range(1, 8):
        status["errorHistory"] = history_with(status, encode(WHOLE, attempt, Decision.RETRY))
    assert [each["attempt"] for each in status["errorHistory"]] == [3, 4, 5, 6, 7]


def test_the_same_failure_is_listed_once() -> None:
    status = {"errorHistory": history_with({}, encode(WHOLE, 1, Decision.NONE))}
    again = history_with(status, encode(WHOLE, 1, Decision.RETRY))
    assert again == [
        {
            "attempt": 1,
            "time": "2026-01-01T10:00:10.250000Z",
            "pod": "train-worker-2",
            "summary": "train-worker-2 on gpu-3 r2: ValueError: bad shard (Evicted)",
            "decision": "Retry",
        }
    ]
    assert len(history_with({"errorHistory": again}, encode(WHOLE, 2, Decision.RETRY))) == 2


@pytest.mark.parametrize("character", ["x", "é", '"', "\\"])
def test_an_entry_has_at_most_512_bytes(character: str) -> None:
    long = RootCause(pod="p" * 253, time=AT, message=character * 2000, recoverable=True)
    (entry,) = history_with({}, encode(long, 1, Decision.RETRY))
    assert 480 <= len(orjson.dumps(entry)) <= 512
    assert entry["pod"] == "p" * 253
