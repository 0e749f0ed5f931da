"""The policy's order does not depend on the order of what is given, whatever is given."""

import random
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controller.facts.error_store import StoreRead
from controller.facts.pods import Pod
from controller.facts.root_causes import find_root_cause
from controller.phases.snapshot import FaultTolerance
from tests.support.builders.failed_pods import (
    BEGAN,
    SECOND,
    failed_pod,
    record,
    termination_message,
)
from worker.record import SYSTEM, USER, ErrorRecord

NOW = datetime(2026, 1, 1, 10, 5, tzinfo=UTC)
TEXTS = st.sampled_from(["", "ValueError: bad shard", "Connection reset by peer", "x\x00é"])
SECONDS = st.sampled_from([None, -1000.0, 9.5, 10.0, 10.2, 11.0, 10_000.0])


@st.composite
def records(draw: st.DrawFn) -> ErrorRecord:
    worker = draw(st.sampled_from(["", "w0", "w1", "w2", "gone"]))
    uid = draw(st.sampled_from(["", "", "uid-w0", "uid-w1", "uid-gone"]))
    return record(
        draw(SECONDS),
        message=draw(TEXTS),
        code=draw(st.sampled_from(["", "USER:ValueError"])),
        recoverable=draw(st.booleans()),
        origin=draw(st.sampled_from([USER, SYSTEM])),
        worker=worker,
        pod_uid=uid,
        attempt=draw(st.sampled_from([0, 1, 2])),
        rank=draw(st.sampled_from([None, 0, 5])),
        signal=draw(st.sampled_from([None, 11])),
        collateral=draw(st.booleans()),
        precision_ns=draw(st.sampled_from([0, SECOND, -1, 2**70])),
        started_ns=draw(st.sampled_from([None, 0, record(3).time_ns])),
        record_id=draw(st.sampled_from(["", "a", "b"])),
    )


@st.composite
def failed_pods(draw: st.DrawFn, name: str) -> Pod:
    words = draw(st.one_of(TEXTS, records().map(termination_message)))
    named: dict[str, Any] = {"reason": draw(st.sampled_from(["Error", "OOMKilled"]))}
    if draw(st.integers(0, 3)) == 0:
        named["status"] = {"containerStatuses": [], "reason": "Evicted"}
    code = draw(st.sampled_from([1, 137, 139, 143]))
    return failed_pod(name, code, draw(st.sampled_from([None, 9, 10, 11])), words, **named)


@given(
    st.tuples(failed_pods("w0"), failed_pods("w1"), failed_pods("w2"), failed_pods("w3")),
    st.lists(records(), max_size=6),
    st.randoms(use_true_random=False),
)
def test_the_choice_is_the_same_in_any_order(
    pods: tuple[Pod, ...], stored: list[ErrorRecord], luck: random.Random
) -> None:
    def choose() -> object:
        return find_root_cause(
            shuffled_pods,
            FaultTolerance(),
            store=StoreRead(records=tuple(shuffled_records)),
            flagged_nodes={"n-w3"},
            attempt=1,
            now=NOW,
        )

    shuffled_pods, shuffled_records = list(pods), list(stored)
    expected = choose()
    for _ in range(5):
        luck.shuffle(shuffled_pods)
        luck.shuffle(shuffled_records)
        assert choose() == expected


@given(st.lists(st.integers(0, 10**11), min_size=2, max_size=8, unique=True))
def test_the_earliest_of_exact_and_distinct_times_wins(times: list[int]) -> None:
    pods = [
        failed_pod(f"w{i}", 1, 20, termination_message(replace(record(), time_ns=BEGAN + later)))
        for i, later in enumerate(times)
    ]
    cause = find_root_cause(pods, FaultTolerance(), attempt=1, now=NOW)
    assert cause is not None
    assert cause.pod == f"w{times.index(min(times))}"
