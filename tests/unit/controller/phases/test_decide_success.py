"""Running, where it ends well."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.phases import decide
from controller.phases.actions import (
    DeleteComponents,
    DeletionMode,
    MoveTo,
    Reason,
    RecordEnds,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
    Warn,
)
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    Component,
    FaultTolerance,
    PodCounts,
    Presence,
    Snapshot,
    Timers,
)
from shared.api.conditions import Terminal

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONFIG = FaultTolerance()
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=4, reports=True)
SERVICE = Component(name="rendezvous", kind="Service", presence=Presence.PRESENT)
DEPLOYMENT = Component(
    name="serve", kind="Deployment", presence=Presence.PRESENT, expected_pods=4, reports=False
)
READY = frozenset({"QuotaReserved", "ResourcesDeployed", "PodsReady"})
NOT_READY = READY - {"PodsReady"}
HEALTHY = Snapshot(
    phase=Phase.RUNNING,
    finalizer=True,
    conditions=READY,
    components=(SERVICE, JOB),
    pods=PodCounts(expected=4, running=4),
)


def ago(**kwargs: float) -> datetime:
    return NOW - timedelta(**kwargs)


def deletion_begins() -> tuple[object, ...]:
    return (
        SetCondition("DeletingResources", True, Reason.DELETION_INITIATED),
        StartTimer(Timer.FORCEFUL_DELETION),
        DeleteComponents(),
        WakeAfter(timedelta(seconds=5)),
    )


def fails(reason: Reason, message: str) -> tuple[object, ...]:
    return (
        MoveTo(Phase.FAILED, reason, message),
        SetCondition("Unhealthy", True, reason, message),
        *deletion_begins(),
    )


SUCCEEDS = (
    MoveTo(Phase.SUCCEEDED, Reason.SUCCEEDED),
    StartTimer(Timer.SUCCESS),
    SetCondition("QuotaReserved", False, Reason.SUCCEEDED),
    WakeAfter(timedelta(days=7)),
)


@pytest.mark.parametrize(
    ("components", "pods", "succeeded"),
    [
        pytest.param((JOB,), {"succeeded": 4}, False, id="pods alone do not end a Job"),
        pytest.param(
            (replace(JOB, terminal=Terminal.SUCCEEDED),), {"succeeded": 4}, True, id="Job Complete"
        ),
        pytest.param(
            (replace(JOB, terminal=Terminal.SUCCEEDED),),
            {},
            True,
            id="its pods may have been cleaned up",
        ),
        pytest.param(
            (replace(JOB, terminal=Terminal.SUCCEEDED),),
            {"outliving": 3},
            False,
            id="a worker still runs",
        ),
        pytest.param(
            (replace(JOB, terminal=Terminal.SUCCEEDED),),
            {"succeeded": 3, "deleting": 1},
            False,
            id="a pod is still on its way out",
        ),
        pytest.param(
            (replace(JOB, terminal=Terminal.SUCCEEDED), DEPLOYMENT),
            {"succeeded": 4},
            False,
            id="the other component's pods have not succeeded",
        ),
        pytest.param(
            (replace(JOB, terminal=Terminal.SUCCEEDED), DEPLOYMENT),
            {"succeeded": 8, "loose_succeeded": 4},
            True,
            id="all of both have",
        ),
        pytest.param(
            (DEPLOYMENT,),
            {"succeeded": 4, "loose_succeeded": 4, "failed": 1},
            False,
            id="a pod failed beside them",
        ),
        pytest.param((SERVICE,), {}, False, id="nothing with pods can succeed"),
    ],
)
def test_success(components: tuple[Component, ...], pods: dict[str, Any], succeeded: bool) -> None:
    expected = sum(component.expected_pods for component in components)
    snapshot = replace(HEALTHY, components=components, pods=PodCounts(expected=expected, **pods))
    moves = [a for a in decide(snapshot, NOW, CONFIG) if isinstance(a, MoveTo)]
    assert moves == ([MoveTo(Phase.SUCCEEDED, Reason.SUCCEEDED)] if succeeded else [])


def test_ends_are_recorded_while_others_go_on() -> None:
    ended = replace(JOB, terminal=Terminal.SUCCEEDED)
    pods = PodCounts(expected=8, running=4, succeeded=4)
    for components, expected in (
        ((SERVICE, ended, JOB), (RecordEnds((1,)),)),
        ((SERVICE, replace(ended, end_recorded=True), JOB), ()),
    ):
        assert decide(replace(HEALTHY, components=components, pods=pods), NOW, CONFIG) == expected


ENDED = replace(JOB, terminal=Terminal.SUCCEEDED, end_recorded=True)
HELPER = replace(DEPLOYMENT, name="board", expected_pods=1, helper=True)
LEAVING_HELPER = replace(HELPER, presence=Presence.DELETING)
OUTLIVING = PodCounts(outliving=3, stragglers=3)
WHOLE = (
    DeleteComponents(DeletionMode.OUTLIVED),
    Warn(Reason.STRAGGLERS, "3 pods outlived success; their components are deleted"),
    WakeAfter(timedelta(seconds=30)),
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {},
            (StartTimer(Timer.STRAGGLERS), WakeAfter(timedelta(minutes=1))),
            id="workers still run",
        ),
        pytest.param(
            {"timers": Timers(stragglers=ago(seconds=59))},
            (WakeAfter(timedelta(seconds=1)),),
            id="one second before the deadline",
        ),
        pytest.param(
            {"timers": Timers(stragglers=ago(seconds=60))},
            (
                DeleteComponents(DeletionMode.STRAGGLERS),
                Warn(Reason.STRAGGLERS, "3 pods outlived their component"),
                WakeAfter(timedelta(seconds=30)),
            ),
            id="at the deadline they are removed",
        ),
        pytest.param(
            {"timers": Timers(stragglers=ago(seconds=61)), "pods": PodCounts(outliving=3)},
            (WakeAfter(timedelta(seconds=30)),),
            id="they are on their way out",
        ),
        pytest.param(
            {
                "timers": Timers(stragglers=ago(minutes=10, seconds=59.9)),
                "pods": PodCounts(outliving=3),
            },
            (WakeAfter(timedelta(seconds=30)),),
            id="and have their time",
        ),
        pytest.param(
            {"timers": Timers(stragglers=ago(minutes=11)), "pods": PodCounts(outliving=3)},
            (
                DeleteComponents(DeletionMode.FORCE_LEAVING),
                Warn(Reason.STRAGGLERS, "3 pods are not deleted in time; they are forced"),
                WakeAfter(timedelta(seconds=30)),
            ),
            id="on a node that is gone, say",
        ),
        pytest.param(
            {
                "timers": Timers(stragglers=ago(seconds=61)),
                "pods": replace(OUTLIVING, newest_straggler=ago(seconds=2)),
            },
            (
                DeleteComponents(DeletionMode.STRAGGLERS),
                Warn(Reason.STRAGGLERS, "3 pods outlived their component"),
                WakeAfter(timedelta(seconds=30)),
            ),
            id="all were made before the removal was due",
        ),
        pytest.param(
            {
                "timers": Timers(stragglers=ago(seconds=60.5)),
                "pods": replace(OUTLIVING, newest_straggler=ago(seconds=1)),
            },
            WHOLE,
            id="they come back, in the second of the removal",
        ),
        pytest.param(
            {
                "timers": Timers(stragglers=ago(seconds=60)),
                "pods": PodCounts(pending=1, running=2, deleting=1, outliving=1),
            },
            WHOLE,
            id="of a component that does not say that it ended",
        ),
        pytest.param(
            {"components": (HELPER, ENDED)},
            (DeleteComponents(DeletionMode.HELPERS), WakeAfter(timedelta(seconds=5))),
            id="a helper goes at once",
        ),
        pytest.param(
            {"components": (replace(HELPER, presence=Presence.DELETING), ENDED)},
            (WakeAfter(timedelta(seconds=5)),),
            id="a helper is on its way out",
        ),
        pytest.param(
            {"components": (replace(LEAVING_HELPER, leaves=ago(seconds=599)), ENDED)},
            (WakeAfter(timedelta(seconds=5)),),
            id="a helper has until the end of its forceful deletion grace period",
        ),
        pytest.param(
            {"components": (replace(LEAVING_HELPER, leaves=ago(seconds=600)), ENDED)},
            (
                DeleteComponents(DeletionMode.FORCE_LEAVING),
                Warn(
                    Reason.STRAGGLERS,
                    "helpers are not deleted in time: Deployment board; their pods are forced",
                ),
                WakeAfter(timedelta(seconds=30)),
            ),
            id="a helper whose pod does not go is forced",
        ),
        pytest.param(
            {"components": (HELPER, ENDED), "pods": PodCounts(expected=5, succeeded=4)},
            (DeleteComponents(DeletionMode.HELPERS), WakeAfter(timedelta(seconds=5))),
            id="a helper without pods may yet make some",
        ),
        pytest.param(
            {
                "components": (replace(HELPER, presence=Presence.GONE), ENDED),
                "pods": PodCounts(expected=5, succeeded=4),
            },
            SUCCEEDS,
            id="a helper that we removed is not missed",
        ),
    ],
)
def test_what_outlives_success(changes: dict[str, object], expected: tuple[object, ...]) -> None:
    outlived = replace(HEALTHY, components=(ENDED,), pods=OUTLIVING)
    assert decide(replace(outlived, **changes), NOW, CONFIG) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("presence", "mode"),
    [
        (Presence.PRESENT, DeletionMode.OUTLIVED),
        (Presence.DELETING, DeletionMode.OUTLIVED),
        (Presence.GONE, DeletionMode.STRAGGLERS),
    ],
)
def test_the_pods_of_a_ray_job_go_with_it(presence: Presence, mode: DeletionMode) -> None:
    """Removed alone, its RayCluster makes them anew: perhaps once the quota has been given back."""
    ray_job = replace(ENDED, kind="RayJob", outlived=True, presence=presence)
    snapshot = replace(HEALTHY, components=(ray_job,), pods=OUTLIVING)
    assert decide(replace(snapshot, timers=Timers(stragglers=ago(seconds=60))), NOW, CONFIG) == (
        DeleteComponents(mode),
        Warn(Reason.STRAGGLERS, "3 pods outlived their component"),
        WakeAfter(timedelta(seconds=30)),
    )


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="workers still run"),
        pytest.param({"timers": Timers(stragglers=ago(seconds=60))}, id="they are removed"),
        pytest.param(
            {
                "timers": Timers(stragglers=ago(seconds=60)),
                "pods": replace(OUTLIVING, newest_straggler=NOW),
            },
            id="it goes as a whole",
        ),
        pytest.param({"components": (ENDED, HELPER)}, id="a helper goes"),
        pytest.param({"components": (ENDED, LEAVING_HELPER)}, id="a helper is on its way out"),
    ],
)
def test_an_end_is_remembered_while_others_are_waited_for(changes: dict[str, Any]) -> None:
    """A Job may go by its TTL meanwhile; after a restart nobody would know that it ended well."""
    recorded = replace(HEALTHY, components=(ENDED,), pods=OUTLIVING)
    recorded = replace(recorded, **changes)
    unrecorded = tuple(replace(each, end_recorded=False) for each in recorded.components)
    assert decide(replace(recorded, components=unrecorded), NOW, CONFIG) == (
        RecordEnds((0,)),
        *decide(recorded, NOW, CONFIG),
    )


def test_a_component_that_does_not_say_that_it_ended_is_remembered_when_it_is_removed() -> None:
    serving = replace(HEALTHY, components=(DEPLOYMENT,), timers=Timers(stragglers=ago(seconds=60)))
    pods = PodCounts(expected=4, succeeded=4, loose_succeeded=4, running=1)
    assert decide(replace(serving, pods=pods), NOW, CONFIG) == (
        RecordEnds((0,)),
        DeleteComponents(DeletionMode.OUTLIVED),
        Warn(Reason.STRAGGLERS, "1 pods outlived success; their components are deleted"),
        WakeAfter(timedelta(seconds=30)),
    )


def test_a_removal_without_grace_remembers_when_it_was() -> None:
    """Else pods that come back could not be told from those that never went."""
    snapshot = replace(HEALTHY, components=(ENDED,), pods=OUTLIVING)
    assert decide(snapshot, NOW, FaultTolerance(failure_grace=timedelta(0))) == (
        StartTimer(Timer.STRAGGLERS),
        DeleteComponents(DeletionMode.STRAGGLERS),
        Warn(Reason.STRAGGLERS, "3 pods outlived their component"),
        WakeAfter(timedelta(seconds=30)),
    )


def test_what_was_removed_as_a_whole_has_succeeded() -> None:
    """Its pods are gone with it; only the record says that they did what they were for."""
    removed = replace(
        DEPLOYMENT, presence=Presence.GONE, terminal=Terminal.SUCCEEDED, end_recorded=True
    )
    snapshot = replace(HEALTHY, components=(removed,), pods=PodCounts())
    assert decide(snapshot, NOW, CONFIG) == SUCCEEDS


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param({"presence": Presence.GONE}, id="somebody removed it"),
        pytest.param({"terminal": Terminal.FAILED, "reports": True}, id="it gave up"),
    ],
)
def test_trouble_with_a_helper_is_no_trouble(trouble: dict[str, object]) -> None:
    helper = replace(HELPER, **trouble)  # type: ignore[arg-type]
    assert decide(replace(HEALTHY, components=(helper, JOB)), NOW, CONFIG) == ()


def test_pods_that_end_before_anybody_saw_them_run_were_ready() -> None:
    snapshot = replace(
        HEALTHY,
        conditions=NOT_READY | {"Unhealthy"},
        components=(replace(JOB, terminal=Terminal.SUCCEEDED),),
        pods=PodCounts(expected=4, succeeded=4),
    )
    assert decide(snapshot, NOW, CONFIG) == (
        *SUCCEEDS[:-1],
        SetCondition("PodsReady", True, Reason.SUFFICIENT_PODS_READY),
        SetCondition("Unhealthy", False, Reason.SUCCEEDED),
        SUCCEEDS[-1],
    )


def test_what_another_client_deletes_after_success_is_not_missing() -> None:
    """A pod still runs, so the quota is not released yet."""
    gone = replace(SERVICE, presence=Presence.GONE)
    left = replace(HEALTHY, components=(gone, ENDED), pods=OUTLIVING)
    actions = decide(left, NOW, CONFIG)
    assert actions == (StartTimer(Timer.STRAGGLERS), WakeAfter(CONFIG.failure_grace))
