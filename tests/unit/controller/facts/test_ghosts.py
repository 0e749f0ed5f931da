"""Which deleted pods are forced to go, since others took their place, and when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.facts.ghosts import find_ghosts, reserved_pods
from controller.facts.own_status import effective_fault_tolerance
from controller.facts.pod_counts import Membership
from controller.facts.pods import Pod, project_pod
from controller.phases.snapshot import Component, Presence
from shared.api.appwrapper import AppWrapper
from shared.api.times import format_time
from shared.config.configuration import AppWrapperConfig
from shared.config.fault_tolerance import FaultToleranceConfig
from tests.support.builders.remembered_pods import pod

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
PERIOD = timedelta(minutes=10)
MEMBERSHIP = Membership(
    appwrapper_uid="u1",
    attempt=1,
    components=(
        Component(name="train", kind="RayCluster", presence=Presence.PRESENT, expected_pods=2),
        Component(name="side", kind="Job", presence=Presence.PRESENT, expected_pods=3),
    ),
    uids=("cluster", "job"),
)


def leaving(name: str, ago: timedelta, **changes: Any) -> Pod:
    asked = format_time(NOW - ago)
    return pod(name, component=0, deleting=True, asked=asked, **changes)


def running(*names: str, component: int | None = 0, phase: str = "Running") -> list[Pod]:
    return [pod(name, phase, component=component, owner_uid="rs") for name in names]


def found(*pods: Pod) -> tuple[list[str], timedelta | None]:
    overdue, next_in = find_ghosts(pods, MEMBERSHIP, [2, 3], PERIOD, NOW)
    return [each.name for each in overdue], next_in


def test_both_sides_of_the_deadline() -> None:
    others = running("a", "b")
    assert found(*others, leaving("old", PERIOD - SECOND)) == ([], SECOND)
    assert found(*others, leaving("old", PERIOD)) == (["old"], None)
    assert found(*others, leaving("old", PERIOD), leaving("new", SECOND)) == (
        ["old"],
        PERIOD - SECOND,
    )


def test_a_deletion_of_tomorrows_clock_was_asked_for_now() -> None:
    assert found(*running("a", "b"), leaving("old", -timedelta(days=1))) == ([], PERIOD)


@pytest.mark.parametrize(
    "others",
    [
        pytest.param(running("a"), id="nobody took its place"),
        pytest.param(running("a") + running("b", phase="Succeeded"), id="one has ended"),
        pytest.param(running("a") + running("b", phase="Failed"), id="one has failed"),
    ],
)
def test_as_many_as_are_reserved_may_take_their_time(others: list[Pod]) -> None:
    assert found(*others, leaving("old", 2 * PERIOD)) == ([], None)


def test_only_as_many_as_there_are_too_many_the_first_first() -> None:
    pods = [leaving(f"old-{n}", (n + 1) * PERIOD) for n in range(3)]
    assert found(*running("a"), *pods) == (["old-2", "old-1"], None)


def test_one_component_does_not_make_up_for_another() -> None:
    """All of the second have ended, and its quota is no other's."""
    ended = running("c", "d", "e", component=1, phase="Succeeded")
    assert found(*running("a", "b"), *ended, leaving("old", PERIOD)) == (["old"], None)


def test_pods_of_unknown_origin_count_together() -> None:
    unknown = running("x", "y", "z", component=None)
    assert found(*running("a"), *unknown, leaving("old", PERIOD)) == ([], None)
    assert found(*running("a", "b"), *unknown, leaving("old", PERIOD)) == (["old"], None)


def test_one_that_ended_holds_nothing() -> None:
    assert found(*running("a", "b"), leaving("old", PERIOD, phase="Failed")) == ([], None)


def test_the_recorded_pod_sets_are_the_reserved_ones() -> None:
    status = {
        "componentStatus": [
            {"podSets": [{"replicas": 2}, {}, {"replicas": -3}]},
            {"podSets": None},
            {"podSets": [{"replicas": 0}]},
        ]
    }
    assert reserved_pods(AppWrapper({"metadata": {}, "status": status})) == [3, 0, 0]


@pytest.mark.parametrize(
    ("asked", "operators", "period"),
    [
        (None, "10m", timedelta(minutes=10)),
        ("24h", "10m", timedelta(minutes=10)),
        ("10s", "10m", timedelta(seconds=10)),
        ("soon", "2m", timedelta(minutes=2)),
    ],
)
def test_the_period_is_the_shorter_of_the_operators_and_its_own(
    asked: str | None, operators: str, period: timedelta
) -> None:
    key = "workload.codeflare.dev.appwrapper/forcefulDeletionGracePeriodDuration"
    annotations = {} if asked is None else {key: asked}
    raw = {"metadata": {"uid": "u1", "annotations": annotations}, "spec": {}, "status": {}}
    tolerance = FaultToleranceConfig.model_validate({"forcefulDeletionGracePeriod": operators})
    config = AppWrapperConfig(fault_tolerance=tolerance)
    assert effective_fault_tolerance(AppWrapper(raw), config).longest_pod_grace == period


@pytest.mark.parametrize(
    ("grace", "leaves"),
    [
        (30, "2026-01-01T12:00:30Z"),
        (0, "2026-01-01T12:00:00Z"),
        (86_400, "2026-01-02T12:00:00Z"),
        # 2^63 seconds of nanoseconds: an even number of turns, and the API server adds nothing.
        (2**63 - 1, "2026-01-01T11:59:59Z"),
    ],
)
def test_when_it_was_asked_to_go_whatever_grace_it_was_given(grace: int, leaves: str) -> None:
    metadata = {
        "namespace": "team1",
        "name": "a",
        "uid": "a",
        "deletionTimestamp": leaves,
        "deletionGracePeriodSeconds": grace,
    }
    assert project_pod({"metadata": metadata}).asked == "2026-01-01T12:00:00Z"
