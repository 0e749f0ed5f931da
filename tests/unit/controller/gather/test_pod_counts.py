from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from controller.gather.pod import Pod
from controller.gather.pod_counts import count_pods, outlived, stragglers
from controller.gather.pod_membership import Membership
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.snapshot import Component, PodCounts, Presence, Terminal
from tests.builders.pods import pod

CONFIG = FaultTolerance()
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=2, reports=True)
SERVE = Component(name="serve", kind="Deployment", presence=Presence.PRESENT, expected_pods=2)
ENDED = replace(JOB, terminal=Terminal.SUCCEEDED)


def of(*components: Component) -> Membership:
    """The first component is the Job that the pods are owned by; their labels name no component."""
    return Membership(
        appwrapper_uid="u1",
        attempt=1,
        components=components,
        uids=("job", "deployment", "other")[: len(components)],
    )


def job(expected: int = 2, terminal: Terminal | None = None) -> Membership:
    return of(replace(JOB, expected_pods=expected, terminal=terminal), SERVE)


def test_each_pod_is_in_one_count() -> None:
    pods = [
        pod("a"),
        pod("b", "Pending"),
        pod("c", "Unknown"),
        pod("d", deleting=True),
        pod("e", "Pending", deleting=True),
        pod("f", "Succeeded"),
        pod("g", "Succeeded", deleting=True),
    ]
    counts = count_pods(pods, job(7), CONFIG)
    assert counts == PodCounts(expected=9, pending=2, running=1, deleting=2, succeeded=2)
    assert (counts.existing, counts.under_way, counts.ready) == (7, 5, 3)


def test_successes_of_components_that_report_none_are_counted_apart() -> None:
    pods = [
        pod("a", "Succeeded"),
        *(pod(name, "Succeeded", owner_uid="rs", component=1) for name in "bcd"),
        pod("e", "Succeeded", owner_uid="who?"),
    ]
    counts = count_pods(pods, of(JOB, SERVE, SERVE), CONFIG)
    assert (counts.succeeded, counts.loose_succeeded) == (5, 3)


def test_what_ended_well_is_awaited_no_more() -> None:
    """Its pods may be gone already, and others may go on for days."""
    pods = [
        pod("a", "Succeeded"),
        pod("b", "Failed"),
        pod("c", component=1),
        pod("d", component=1),
    ]
    assert count_pods(pods, of(ENDED, SERVE), CONFIG) == PodCounts(expected=2, running=2)
    assert count_pods(pods[2:], of(ENDED, SERVE), CONFIG) == PodCounts(expected=2, running=2)


@pytest.mark.parametrize(
    ("phase", "outliving"), [("Running", 1), ("Failed", 0), ("Succeeded", 0), ("Pending", 1)]
)
def test_a_helper_is_never_awaited(phase: str, outliving: int) -> None:
    pods = [pod("a"), pod("b"), pod("c", phase, component=1, exit_codes=(42,))]
    config = FaultTolerance(terminal_exit_codes=frozenset({42}))
    assert count_pods(pods, of(JOB, replace(SERVE, helper=True)), config) == PodCounts(
        expected=2, running=2, outliving=outliving
    )


LATER = "2026-01-01T10:00:05Z"


@pytest.mark.parametrize(
    ("components", "changes", "alone", "whole"),
    [
        pytest.param((ENDED,), {}, True, {0}, id="of a Job that ended"),
        pytest.param(
            (JOB, replace(SERVE, reports=True, terminal=Terminal.SUCCEEDED)),
            {"component": 1, "owner_uid": "ray-cluster"},
            True,
            {1},
            id="of what stands between it and a RayJob that ended",
        ),
        pytest.param(
            (replace(ENDED, presence=Presence.GONE), SERVE),
            {"component": 0},
            True,
            set(),
            id="of a Job that went by its TTL",
        ),
        pytest.param(
            (ENDED, SERVE), {"component": 1}, False, {1}, id="of one that does not say its end"
        ),
        pytest.param(
            (ENDED, replace(SERVE, presence=Presence.PLANNED)),
            {"component": 1},
            False,
            set(),
            id="of one that is not known to be gone",
        ),
        pytest.param(
            (ENDED, SERVE), {"owner_uid": "rs"}, False, {0, 1}, id="nothing tells of which"
        ),
        pytest.param(
            (replace(ENDED, presence=Presence.GONE), replace(SERVE, presence=Presence.GONE)),
            {"owner_uid": "rs"},
            True,
            set(),
            id="nothing tells of which, and all are gone",
        ),
        pytest.param(
            (ENDED, replace(SERVE, helper=True)), {"component": 1}, False, set(), id="of a helper"
        ),
        pytest.param((ENDED,), {"deleting": True}, False, set(), id="on its way out"),
        pytest.param((ENDED,), {"phase": "Succeeded"}, False, set(), id="it has ended"),
    ],
)
def test_what_has_to_go_after_success(
    components: tuple[Component, ...], changes: dict[str, Any], alone: bool, whole: set[int]
) -> None:
    one = pod("a", **{"created": LATER, **changes})
    found = of(*components)
    assert stragglers([one], found) == ([one] if alone else [])
    assert outlived([one], found) == whole
    counts = count_pods([one], found, CONFIG)
    made = datetime(2026, 1, 1, 10, 0, 5, tzinfo=UTC) if alone and whole else None
    assert (counts.stragglers, counts.newest_straggler) == (int(alone), made)


@pytest.mark.parametrize(
    ("others", "found", "failed"),
    [
        pytest.param([], job(), 1, id="nobody took its place"),
        pytest.param([pod("b")], job(), 1, id="one of two is there"),
        pytest.param([pod("b"), pod("c", "Pending")], job(), 0, id="two of two are there"),
        pytest.param([pod("b"), pod("c", deleting=True)], job(), 1, id="one of them is going"),
        pytest.param(
            [pod("b"), pod("c", owner_uid="rs", component=1)],
            job(),
            1,
            id="one of them is of another component",
        ),
        pytest.param([], job(terminal=Terminal.SUCCEEDED), 0, id="its Job completed"),
        pytest.param([pod("b", "Pending", index="/0", created=LATER)], job(), 0, id="a newer one"),
        pytest.param(
            [pod("b", index="/1", created=LATER)], job(), 1, id="a newer one of another index"
        ),
        pytest.param(
            [pod("b", index="/0", created=LATER, owner_uid="other")],
            job(),
            1,
            id="a newer one of another owner",
        ),
        pytest.param(
            [pod("b", "Failed", index="/0")], job(), 1, id="of two failures in a second one"
        ),
        pytest.param(
            [pod("b", "Failed", index="/0", created=LATER)], job(), 1, id="the newer failed too"
        ),
    ],
)
def test_replaced_failures(others: list[Pod], found: Membership, failed: int) -> None:
    pods = [pod("a", "Failed", index="/0"), *others]
    assert count_pods(pods, found, CONFIG).failed == failed


def test_an_evicted_pod_of_a_deployment_is_replaced() -> None:
    """Its owner is the ReplicaSet, which is no component and gives no index."""
    pods = [
        pod(name, phase, owner_uid="replica-set", component=1)
        for name, phase in (("a", "Failed"), ("b", "Running"), ("c", "Pending"))
    ]
    assert count_pods(pods, job(), CONFIG) == PodCounts(expected=4, pending=1, running=1)


@pytest.mark.parametrize(
    ("config", "terminal"),
    [
        (FaultTolerance(), False),
        (FaultTolerance(terminal_exit_codes=frozenset({42})), True),
        (FaultTolerance(terminal_exit_codes=frozenset({1})), False),
        (FaultTolerance(retryable_exit_codes=frozenset({42})), False),
        (FaultTolerance(retryable_exit_codes=frozenset({1})), True),
    ],
)
def test_exit_codes(config: FaultTolerance, terminal: bool) -> None:
    failed = pod("a", "Failed", exit_codes=(42,))
    assert count_pods([failed], job(), config).terminal_exit is terminal


@pytest.mark.parametrize(("ended", "terminal"), [(None, False), (Terminal.FAILED, True)])
def test_all_failures_of_a_component_that_gave_up_are_judged(
    ended: Terminal | None, terminal: bool
) -> None:
    """It gave up for this pod, though others make up for it in number."""
    pods = [pod("a", "Succeeded"), pod("b", "Succeeded"), pod("c", "Failed", exit_codes=(42,))]
    config = FaultTolerance(terminal_exit_codes=frozenset({42}))
    counts = count_pods(pods, job(terminal=ended), config)
    assert (counts.failed, counts.terminal_exit) == (0, terminal)
