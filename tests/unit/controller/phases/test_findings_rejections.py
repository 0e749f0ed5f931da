"""A component that its operator rejects ends the AppWrapper: no retry changes the component."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.phases import decide
from controller.phases.actions import MoveTo, WakeAfter
from controller.phases.ask import Need
from controller.phases.phase import Phase
from controller.phases.readiness import pods_missing
from controller.phases.snapshot import (
    Component,
    ConditionText,
    PodCounts,
    Presence,
    Snapshot,
    Timers,
)
from controller.reports.reason import Reason
from shared.api.conditions import Terminal
from tests.support.decisions import CONFIG, asked
from tests.support.moments import NOW

RAY = Component(
    name="ray", kind="RayCluster", presence=Presence.PRESENT, expected_pods=2, rejectable=True
)
INVALID = replace(RAY, terminal=Terminal.FAILED, invalid=True, message="InvalidRayClusterSpec: a")
OTHER = Component(name="job", kind="Job", presence=Presence.PRESENT, terminal=Terminal.FAILED)


def running(*components: Component, after: float = 5, **changes: Any) -> Snapshot:
    began = NOW - timedelta(seconds=after)
    snapshot = Snapshot(
        phase=Phase.RUNNING,
        finalizer=True,
        conditions=frozenset({"QuotaReserved", "ResourcesDeployed"}),
        components=components,
        pods=PodCounts(expected=2),
        timers=Timers(admission=began, warmup=began),
    )
    texts = {"PodsReady": ConditionText(Reason.RESUMING, pods_missing(snapshot).text())}
    return replace(snapshot, condition_texts=texts, **changes)


@pytest.mark.parametrize("others", [(), (OTHER,)])
def test_a_rejected_component_fails_the_appwrapper_though_retries_remain(
    others: tuple[Component, ...],
) -> None:
    actions = decide(running(INVALID, *others), NOW, CONFIG)
    assert actions[0] == MoveTo(
        Phase.FAILED,
        Reason.FAILED_COMPONENT,
        "no retry: the operator rejects the component; RayCluster ray: InvalidRayClusterSpec: a",
        logged="no retry: the operator rejects the component; RayCluster ray",
    )


def test_a_rejected_helper_fails_nothing() -> None:
    actions = decide(running(replace(INVALID, helper=True)), NOW, CONFIG)
    assert not any(isinstance(each, MoveTo) for each in actions)


def test_the_events_are_read_five_seconds_after_the_start_and_a_pass_comes_then() -> None:
    early = running(RAY, after=4)
    assert Need.REJECTIONS not in asked(early)
    assert WakeAfter(timedelta(seconds=1)) in decide(early, NOW, CONFIG)
    assert Need.REJECTIONS in asked(running(RAY))
    # The next pass is that of the admission period: a watch reports no Event.
    assert WakeAfter(timedelta(seconds=55)) in decide(running(RAY), NOW, CONFIG)


@pytest.mark.parametrize(
    "snapshot",
    [
        running(RAY, pods=PodCounts(expected=2, pending=2)),
        running(replace(RAY, rejectable=False)),
        running(INVALID),
        running(RAY, phase=Phase.RESUMING),
        running(RAY, timers=Timers()),
    ],
    ids=["all pods exist", "its status shows it", "known", "not created yet", "not begun"],
)
def test_otherwise_no_events_are_read(snapshot: Snapshot) -> None:
    assert Need.REJECTIONS not in asked(snapshot)
