from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.facts.pod_counts import Membership, count_pods, deleted_with_pods, stragglers
from controller.phases.snapshot import Component, FaultTolerance, PodCounts, Presence, TerminalExit
from shared.api.conditions import Terminal
from tests.support.builders.remembered_pods import pod, with_uids
from tests.support.decisions import CONFIG

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=2, reports=True)
SERVE = Component(name="serve", kind="Deployment", presence=Presence.PRESENT, expected_pods=2)
ENDED = replace(JOB, terminal=Terminal.SUCCEEDED)


def of(*components: Component) -> Membership:
    """The first component is the Job that the pods are owned by; their labels name no component."""
    return Membership(
        appwrapper_uid="u1",
        attempt=1,
        components=with_uids(components, "job", "deployment", "other"),
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
    counts = count_pods(pods, job(7), CONFIG, NOW)
    assert counts == PodCounts(
        expected=9,
        pending=2,
        pending_named="b without a node, c without a node",
        running=1,
        deleting=2,
        succeeded=2,
    )
    assert (counts.existing, counts.under_way, counts.ready) == (7, 5, 3)


def test_successes_of_components_that_report_none_are_counted_apart() -> None:
    pods = [
        pod("a", "Succeeded"),
        *(pod(name, "Succeeded", owner_uid="rs", component=1) for name in "bcd"),
        pod("e", "Succeeded", owner_uid="who?"),
    ]
    counts = count_pods(pods, of(JOB, SERVE, SERVE), CONFIG, NOW)
    assert (counts.succeeded, counts.loose_succeeded) == (5, 3)


def test_a_succeeded_component_is_not_awaited() -> None:
    """Its pods may be gone already, and others may go on for days."""
    pods = [
        pod("a", "Succeeded"),
        pod("b", "Failed"),
        pod("c", component=1),
        pod("d", component=1),
    ]
    assert count_pods(pods, of(ENDED, SERVE), CONFIG, NOW) == PodCounts(expected=2, running=2)
    assert count_pods(pods[2:], of(ENDED, SERVE), CONFIG, NOW) == PodCounts(expected=2, running=2)


@pytest.mark.parametrize(
    ("phase", "unawaited"), [("Running", 1), ("Failed", 0), ("Succeeded", 0), ("Pending", 1)]
)
def test_a_helper_is_never_awaited(phase: str, unawaited: int) -> None:
    pods = [pod("a"), pod("b"), pod("c", phase, component=1, exit_codes=(42,))]
    config = FaultTolerance(terminal_exit_codes=frozenset({42}))
    assert count_pods(pods, of(JOB, replace(SERVE, helper=True)), config, NOW) == PodCounts(
        expected=2, running=2, unawaited=unawaited
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
def test_running_pods_of_a_succeeded_component_are_stragglers(
    components: tuple[Component, ...], changes: dict[str, Any], alone: bool, whole: set[int]
) -> None:
    one = pod("a", **{"created": LATER, **changes})
    found = of(*components)
    assert stragglers([one], found) == ([one] if alone else [])
    assert deleted_with_pods([one], found) == whole
    counts = count_pods([one], found, CONFIG, NOW)
    made = datetime(2026, 1, 1, 10, 0, 5, tzinfo=UTC) if alone and whole else None
    assert (counts.stragglers, counts.newest_straggler) == (int(alone), made)


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
    expected = TerminalExit("a", 42) if terminal else None
    assert count_pods([failed], job(), config, NOW).terminal == expected


MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("loops", "period", "expected"),
    [
        pytest.param([None], MINUTE, PodCounts(running=1), id="none"),
        pytest.param(
            [""],
            MINUTE,
            PodCounts(pending=1, pending_named="p0 without a node", unstable=1),
            id="it does not run",
        ),
        pytest.param(
            ["2026-01-01T11:59:01Z"],
            MINUTE,
            PodCounts(
                pending=1,
                pending_named="p0 without a node",
                unstable=1,
                stable_in=timedelta(seconds=1),
            ),
            id="started 59 s ago",
        ),
        pytest.param(["2026-01-01T11:59:00Z"], MINUTE, PodCounts(running=1), id="started 60 s ago"),
        pytest.param(
            ["2025-12-24T12:00:00Z"], MINUTE, PodCounts(running=1), id="started a week ago"
        ),
        pytest.param(
            ["2026-01-01T12:30:00Z"],
            MINUTE,
            PodCounts(pending=1, pending_named="p0 without a node", unstable=1, stable_in=MINUTE),
            id="by its node's clock it starts in half an hour",
        ),
        pytest.param(["2026-01-01T12:00:00Z"], timedelta(0), PodCounts(running=1), id="no period"),
        pytest.param(
            [None, "", "2026-01-01T11:59:50Z", "2026-01-01T11:59:40Z"],
            MINUTE,
            PodCounts(
                running=1,
                pending=3,
                pending_named="p1 without a node, p2 without a node, p3 without a node",
                unstable=3,
                stable_in=timedelta(seconds=40),
            ),
            id="the first of them counts",
        ),
    ],
)
def test_crash_loops_do_not_count_as_running(
    loops: list[str | None], period: timedelta, expected: PodCounts
) -> None:
    pods = [pod(f"p{i}", crash_loop=loop) for i, loop in enumerate(loops)]
    config = FaultTolerance(stability_period=period)
    found = count_pods(pods, job(), config, NOW)
    assert found == replace(expected, expected=4)
    assert found.existing == len(pods)


def test_a_crash_loop_that_is_being_deleted_is_only_that() -> None:
    found = count_pods([pod("a", crash_loop="", deleting=True)], job(), CONFIG, NOW)
    assert found == PodCounts(expected=4, deleting=1)


@pytest.mark.parametrize(("ended", "terminal"), [(None, False), (Terminal.FAILED, True)])
def test_all_failures_of_a_component_that_gave_up_count(
    ended: Terminal | None, terminal: bool
) -> None:
    """It gave up for this pod, though others make up for it in number."""
    pods = [pod("a", "Succeeded"), pod("b", "Succeeded"), pod("c", "Failed", exit_codes=(42,))]
    config = FaultTolerance(terminal_exit_codes=frozenset({42}))
    counts = count_pods(pods, job(terminal=ended), config, NOW)
    assert (counts.failed, counts.terminal is not None) == (0, terminal)
