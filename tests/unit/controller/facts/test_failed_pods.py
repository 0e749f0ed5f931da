"""Whose failures count against an attempt, and what is remembered of pods that are gone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.facts.container_ends import ContainerEnd
from controller.facts.failed_pods import (
    MOST_FAILURE_TEXT,
    MOST_FAILURES,
    SeenFailures,
    evidence,
    failure_in,
    on_bad_nodes,
)
from controller.facts.pod_counts import Membership
from controller.facts.pods import Pod
from controller.phases.snapshot import Component, Presence
from shared.api.conditions import Terminal
from shared.api.times import format_time
from tests.support.builders.remembered_pods import pod

T0 = datetime(2026, 1, 1, 10, tzinfo=UTC)


def at(seconds: int) -> str:
    return format_time(T0 + timedelta(seconds=seconds))


def failed(name: str, seconds: int, **changes: Any) -> Pod:
    ends = (ContainerEnd(container="main", exit_code=1, finished=at(seconds), message=name),)
    given = {"failed_at": at(seconds), "exit_codes": (1,), "ends": ends, "created": at(0)}
    return pod(name, "Failed", **given | changes)


def looping(name: str, *seconds: int, **changes: Any) -> Pod:
    ends = [ContainerEnd(container="main", exit_code=7, finished=at(each)) for each in seconds]
    return pod(name, crash_loop="", ends=tuple(ends), **changes)


def membership(expected: int = 2, terminal: Terminal | None = None) -> Membership:
    job = Component(
        name="train",
        kind="Job",
        presence=Presence.PRESENT,
        expected_pods=expected,
        reports=True,
        terminal=terminal,
        uid="job",
    )
    return Membership(appwrapper_uid="u1", attempt=1, components=(job,))


def names(
    pods: list[Pod], gone: list[Pod], expected: int = 2, terminal: Terminal | None = None
) -> list[str]:
    return sorted(pod.name for pod in evidence(pods, gone, membership(expected, terminal)))


A, B = failed("a", 1), failed("b", 2)
NEW = pod("c", created=at(9))
OTHER = pod("d", created=at(9))


@pytest.mark.parametrize(
    ("pods", "gone", "expected"),
    [
        pytest.param([NEW, OTHER], [], [], id="nothing failed"),
        pytest.param([A, B], [], ["a", "b"], id="both are there"),
        pytest.param([B], [A], ["a", "b"], id="23: the first is gone"),
        pytest.param([], [A, B], ["a", "b"], id="23: all are gone"),
        pytest.param([NEW], [A], ["a"], id="its place is free still"),
        pytest.param([NEW, OTHER], [A], [], id="somebody replaced it"),
        pytest.param([A, NEW, OTHER], [], [], id="likewise of one that is there"),
        pytest.param([A], [A], ["a"], id="it is counted once"),
        pytest.param(
            [replace(NEW, index="/0")], [replace(A, index="/0")], [], id="by its index: replaced"
        ),
        pytest.param(
            [replace(NEW, index="/1")], [replace(A, index="/0")], ["a"], id="another index"
        ),
        pytest.param(
            [replace(NEW, owner_name="train", owner_uid="job2")],
            [replace(A, owner_name="train")],
            [],
            id="23: a JobSet made the Job of that name anew",
        ),
        pytest.param([A, NEW, failed("d", 7200)], [], ["d"], id="replaced hours before"),
        pytest.param([NEW, failed("d", 7200)], [A], ["d"], id="likewise, and gone"),
        pytest.param([A, B, NEW], [], ["a", "b"], id="replaced, but the other failed before that"),
        pytest.param(
            [A, failed("f", 20, created=at(9)), failed("d", 40)],
            [],
            ["d", "f"],
            id="its replacement failed, too",
        ),
        pytest.param([looping("e", 3), NEW], [], ["e"], id="crashes in place, and nothing failed"),
        pytest.param([looping("e", 3), A], [], ["a"], id="what failed goes before it"),
        pytest.param([pod("e", crash_loop="")], [], [], id="a loop of which nothing is known"),
        pytest.param(
            [replace(looping("e", 3), phase="Pending", crash_loop=None)],
            [],
            ["e"],
            id="its init container crashes",
        ),
    ],
)
def test_whose_failures_count(pods: list[Pod], gone: list[Pod], expected: list[str]) -> None:
    assert names(pods, gone) == expected


def test_if_a_component_gave_up_all_healed_failures_count() -> None:
    assert names([A, NEW, OTHER], [], terminal=Terminal.FAILED) == ["a"]
    assert names([B, A, NEW], [], terminal=Terminal.FAILED) == ["a", "b"]


def test_a_pod_that_failed_before_its_deletion_is_still_a_failure() -> None:
    """A Job that gives up deletes the pod that crashed again and again."""
    seen = failure_in(looping("e", 3, 5, 4))
    assert seen is not None
    assert (seen.phase, seen.failed_at, seen.exit_codes) == ("Failed", at(5), (7,))
    going = replace(looping("e"), deleting=True, ends=())
    killed = replace(going, phase="Failed", crash_loop=None)
    for now in ([going], [killed], []):
        assert list(evidence(now, [seen], membership())) == [seen]


def test_a_disrupted_pod_counts_beside_a_failed_one() -> None:
    """A node that is lost reports no end of its pods."""
    taken = pod("lost", deleting=True, cause="DeletionByTaintManager", deletion_requested_at=at(3))
    assert names([taken], []) == []
    assert names([A, taken], []) == ["a", "lost"]
    (lost,) = (each for each in evidence([A, taken], [], membership()) if each.name == "lost")
    assert (lost.phase, lost.failed_at) == ("Failed", at(3))
    assert names([A, replace(taken, cause="")], []) == ["a"]
    assert names([A, replace(taken, owner_uid="job"), NEW, OTHER], [], expected=1) == []


@pytest.mark.parametrize(
    ("one", "is_failure"),
    [
        pytest.param(A, True, id="it failed"),
        pytest.param(replace(A, deleting=True), True, id="and goes since"),
        pytest.param(replace(A, failed_at="", ends=()), False, id="a deletion ended it"),
        pytest.param(replace(A, failed_at=""), True, id="it had failed before the deletion"),
        pytest.param(replace(A, ends=()), True, id="evicted before a container began"),
        pytest.param(looping("e", 3), True, id="it crashes in place"),
        pytest.param(looping("e", 3, deleting=True), False, id="nobody knows since when"),
        pytest.param(pod("e"), False, id="it runs"),
        pytest.param(pod("e", "Succeeded"), False, id="it ended well"),
    ],
)
def test_an_own_failure_is_no_consequence(one: Pod, is_failure: bool) -> None:
    assert (failure_in(one) is not None) is is_failure


def test_the_oldest_of_too_many_are_forgotten() -> None:
    seen = SeenFailures()
    for number in range(MOST_FAILURES + 2):
        seen.add(failed(f"p{number}", 1))
    seen.add(failed("p2", 9))
    kept = list(seen)
    assert len(seen) == len(kept) == MOST_FAILURES
    assert (kept[0].name, kept[-1].name, kept[-1].failed_at) == ("p3", "p2", at(9))


def test_their_last_words_are_bounded() -> None:
    seen = SeenFailures()
    long = ContainerEnd(container="main", exit_code=1, message="x" * 4096)
    fit = MOST_FAILURE_TEXT // 4096
    for number in range(fit):
        seen.add(failed(f"p{number}", 1, ends=(long,)))
    assert len(seen) == fit
    seen.add(failed("last", 1))
    assert len(seen) == fit
    assert [each.name for each in seen][:1] == ["p1"]


def test_a_node_is_bad_for_pods_that_use_what_is_bad_there() -> None:
    pods = [
        failed("gpu", 1, node="n1", resources=("nvidia.com/gpu",)),
        failed("cpu", 1, node="n2", resources=("cpu",)),
        failed("driven", 1, node="n3", resources=("cpu", "nvidia.com/gpu")),
        failed("unplaced", 1, node="", resources=("nvidia.com/gpu",)),
    ]
    flagged = {"n1": frozenset({"nvidia.com/gpu"}), "n2": frozenset({"nvidia.com/gpu"})}
    assert on_bad_nodes(pods, {}, flagged) == {"n1"}
    assert on_bad_nodes(pods, {"n3": {"nvidia.com/gpu": "EVICT"}}, flagged) == {"n1", "n3"}
    assert on_bad_nodes(pods, {}, {}) == frozenset()
