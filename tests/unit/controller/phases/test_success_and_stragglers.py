"""Running, when an AppWrapper ends well, and Succeeded."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.phases.phase import Phase
from controller.phases.snapshot import Component, Evacuation, HoldReason, Presence, ResetHold
from shared.api.conditions import Terminal
from tests.support.decisions import (
    DELETION_BEGINS,
    DELETION_ENDS,
    DEPLOYMENT,
    HOLDING,
    JOB,
    RUNNING,
    SERVICE,
    SUCCEEDS,
    Situation,
    decisions,
    lines,
)
from tests.support.moments import ago

COMPLETE = replace(JOB, terminal=Terminal.SUCCEEDED)
ENDED = replace(COMPLETE, end_recorded=True)


@pytest.mark.parametrize(
    ("components", "pods", "succeeds"),
    [
        pytest.param((JOB,), {"succeeded": 4}, False, id="pods alone do not end a Job"),
        pytest.param(
            (JOB,),
            {"succeeded": 4, "loose_succeeded": 4},
            False,
            id="pods of an unknown component do not end a Job",
        ),
        pytest.param((COMPLETE,), {"succeeded": 4}, True, id="the Job is Complete"),
        pytest.param((COMPLETE,), {}, True, id="the pods of a Complete Job are deleted"),
        pytest.param((COMPLETE,), {"unawaited": 3}, False, id="a worker still runs"),
        pytest.param(
            (COMPLETE,), {"succeeded": 3, "deleting": 1}, False, id="a pod is being deleted"
        ),
        pytest.param(
            (COMPLETE, DEPLOYMENT),
            {"succeeded": 4},
            False,
            id="the pods of the other component have not succeeded",
        ),
        pytest.param(
            (COMPLETE, DEPLOYMENT),
            {"succeeded": 7, "loose_succeeded": 3},
            False,
            id="one pod of the other component has not succeeded",
        ),
        pytest.param(
            (COMPLETE, DEPLOYMENT),
            {"succeeded": 8, "loose_succeeded": 4},
            True,
            id="the pods of both have succeeded",
        ),
        pytest.param(
            (DEPLOYMENT,),
            {"succeeded": 4, "loose_succeeded": 4, "failed": 1},
            False,
            id="a pod failed beside them",
        ),
        pytest.param((SERVICE,), {}, False, id="no component has pods"),
    ],
)
def test_success_needs_every_component_to_report_it_and_no_pod_under_way(
    components: tuple[Component, ...], pods: dict[str, Any], succeeds: bool
) -> None:
    expected = sum(component.expected_pods for component in components)
    situation = RUNNING.but(components=components).pods(expected=expected, **pods)
    assert situation.moves == (["-> Succeeded (Succeeded)"] if succeeds else [])


def test_success_waits_for_objects_of_earlier_attempts_that_may_use_quota() -> None:
    situation = RUNNING.but(components=(ENDED,), unexpected_alive=True, unexpected_due=True)
    situation = situation.pods(expected=4, succeeded=4)
    assert situation.decision == lines("wake after 5s\ndelete unexpected")
    assert situation.but(unexpected_alive=False).moves == ["-> Succeeded (Succeeded)"]


HELPER = replace(DEPLOYMENT, name="board", expected_pods=1, helper=True)
LEAVING = replace(HELPER, presence=Presence.DELETING)
PODS_REMAIN = RUNNING.but(components=(ENDED,)).pods(expected=0, unawaited=3, stragglers=3)
GOING = PODS_REMAIN.pods(unawaited=3)
REMOVES = """
    delete stragglers
    warn (StragglersRemoved): 3 pods outlived their component
    wake after 30s
"""
REMOVES_COMPONENTS = """
    delete with-component
    warn (StragglersRemoved): 3 pods outlived success; their components are deleted
    wake after 30s
"""
REMOVES_HELPER = """
    delete helpers
    wake after 5s
"""


@decisions(
    {
        "workers still run": (PODS_REMAIN, "start stragglers\nwake after 60s"),
        "one second before the deadline": (PODS_REMAIN.since(stragglers=59), "wake after 1s"),
        "at the deadline": (PODS_REMAIN.since(stragglers=60), REMOVES),
        "without a grace period, the time of the removal is recorded": (
            PODS_REMAIN.configured(failure_grace=timedelta(0)),
            f"start stragglers\n{REMOVES}",
        ),
        "while they are being deleted": (GOING.since(stragglers=61), "wake after 30s"),
        "until the end of their grace period": (GOING.since(stragglers=659.9), "wake after 30s"),
        "not deleted by then, perhaps on a lost node": (
            GOING.since(stragglers=660),
            """
            delete force-leaving
            warn (StragglersRemoved): 3 pods are not deleted in time; they are forced
            wake after 30s
            """,
        ),
        "all were created before the removal was due": (
            PODS_REMAIN.pods(unawaited=3, stragglers=3, newest_straggler=ago(2)).since(
                stragglers=61
            ),
            REMOVES,
        ),
        "their component recreates them, in the second of the removal": (
            PODS_REMAIN.pods(unawaited=3, stragglers=3, newest_straggler=ago(1)).since(
                stragglers=60.5
            ),
            REMOVES_COMPONENTS,
        ),
        "pods of a component that reports no end": (
            PODS_REMAIN.pods(pending=1, running=2, deleting=1, unawaited=1).since(stragglers=60),
            REMOVES_COMPONENTS,
        ),
        "the end of a component that reports none is recorded with its removal": (
            RUNNING.but(components=(DEPLOYMENT,))
            .pods(succeeded=4, loose_succeeded=4, running=1)
            .since(stragglers=60),
            """
            record as succeeded: 0
            delete with-component
            warn (StragglersRemoved): 1 pods outlived success; their components are deleted
            wake after 30s
            """,
        ),
        "a component that was removed with its pods has succeeded": (
            RUNNING.but(
                components=(replace(ENDED, kind="Deployment", presence=Presence.GONE),)
            ).pods(expected=0),
            SUCCEEDS,
        ),
        "a helper is deleted at once": (
            PODS_REMAIN.but(components=(HELPER, ENDED)),
            REMOVES_HELPER,
        ),
        "a helper without pods is deleted: it may create some": (
            PODS_REMAIN.but(components=(HELPER, ENDED)).pods(expected=5, succeeded=4),
            REMOVES_HELPER,
        ),
        "a helper is being deleted": (
            PODS_REMAIN.but(components=(LEAVING, ENDED)),
            "wake after 5s",
        ),
        "a helper within its forceful deletion grace period": (
            PODS_REMAIN.but(components=(replace(LEAVING, deletion_deadline=ago(599)), ENDED)),
            "wake after 5s",
        ),
        "a helper whose pod is not deleted in time": (
            PODS_REMAIN.but(components=(replace(LEAVING, deletion_deadline=ago(600)), ENDED)),
            """
            delete force-leaving
            warn (StragglersRemoved): helpers are not deleted in time: Deployment board; \
their pods are forced
            wake after 30s
            """,
        ),
        "a helper that the controller removed is not missing": (
            PODS_REMAIN.but(components=(replace(HELPER, presence=Presence.GONE), ENDED)).pods(
                expected=5, succeeded=4
            ),
            SUCCEEDS,
        ),
        "a component that another client deletes after success is not missing": (
            PODS_REMAIN.but(components=(replace(SERVICE, presence=Presence.GONE), ENDED)),
            "start stragglers\nwake after 60s",
        ),
        "pods that succeeded before the controller saw them run were ready": (
            RUNNING.but(components=(COMPLETE,), conditions=HOLDING | {"Unhealthy"}).pods(
                succeeded=4
            ),
            """
            -> Succeeded (Succeeded)
            start success
            QuotaReserved=False (Succeeded)
            PodsReady=True (SufficientPodsReady)
            Unhealthy=False (Succeeded)
            wake after 604800s
            """,
        ),
    }
)
def test_pods_that_outlive_success_are_removed(situation: Situation, expected: list[str]) -> None:
    assert situation.decision == expected


@pytest.mark.parametrize(
    ("presence", "mode"),
    [
        (Presence.PRESENT, "with-component"),
        (Presence.DELETING, "with-component"),
        (Presence.GONE, "stragglers"),
    ],
)
def test_the_pods_of_a_ray_job_are_deleted_with_it(presence: Presence, mode: str) -> None:
    """Its RayCluster would recreate pods that are deleted alone, perhaps without quota."""
    ray_job = replace(ENDED, kind="RayJob", has_surviving_children=True, presence=presence)
    assert PODS_REMAIN.but(components=(ray_job,)).since(stragglers=60).decision == lines(
        REMOVES.replace("delete stragglers", f"delete {mode}")
    )


@pytest.mark.parametrize(
    "recorded",
    [
        pytest.param(RUNNING.but(components=(ENDED, JOB)), id="another component runs"),
        pytest.param(
            RUNNING.but(components=(ENDED, JOB)).pods(running=3, failed=1), id="a pod failed"
        ),
        pytest.param(
            RUNNING.but(
                components=(ENDED, JOB),
                evacuation=Evacuation("node a"),
                evacuation_hold=ResetHold(HoldReason.BREAKER, "an admin must confirm"),
            ),
            id="an evacuation waits",
        ),
        pytest.param(
            RUNNING.but(
                components=(
                    ENDED,
                    replace(JOB, terminal=Terminal.FAILED, failure_recorded=True),
                ),
                reset_hold=ResetHold(HoldReason.PAUSED, "resets are paused"),
            ),
            id="a component gave up, and its reset waits",
        ),
        pytest.param(PODS_REMAIN, id="workers still run"),
        pytest.param(PODS_REMAIN.since(stragglers=60), id="they are removed"),
        pytest.param(
            PODS_REMAIN.pods(unawaited=3, stragglers=3, newest_straggler=ago()).since(
                stragglers=60
            ),
            id="their component is removed",
        ),
        pytest.param(PODS_REMAIN.but(components=(ENDED, HELPER)), id="a helper is deleted"),
        pytest.param(PODS_REMAIN.but(components=(ENDED, LEAVING)), id="a helper is being deleted"),
    ],
)
def test_an_end_is_recorded_once_before_all_have_ended(recorded: Situation) -> None:
    """A TTL may delete the Job meanwhile; after a restart nothing else would show its end."""
    components = recorded.snapshot.components
    unrecorded = recorded.but(
        components=tuple(replace(each, end_recorded=False) for each in components)
    )
    assert unrecorded.decision == ["record as succeeded: 0", *recorded.decision]


ENDLESS = replace(DEPLOYMENT, endless=True)
OTHER = replace(ENDLESS, name="other")
NEVER_ENDS = (
    "warn (ComponentNeverEnds): all other components have succeeded, but {}: the AppWrapper keeps"
    " running and holds its quota. Next time annotate a component that only serves the others with"
    ' workload.codeflare.dev.appwrapper/helper: "true". To end it: appwrapper cancel train -n team1'
)


@pytest.mark.parametrize(
    ("components", "warned"),
    [
        pytest.param((COMPLETE, ENDLESS), "Deployment serve never ends", id="one"),
        pytest.param(
            (COMPLETE, ENDLESS, OTHER), "Deployment other and Deployment serve never end", id="two"
        ),
        pytest.param((ENDED, COMPLETE, ENDLESS), "Deployment serve never ends", id="the last end"),
        pytest.param((ENDED, ENDLESS), "", id="recorded before"),
        pytest.param((COMPLETE, JOB, ENDLESS), "", id="another Job runs"),
        pytest.param((COMPLETE, replace(ENDLESS, helper=True), JOB), "", id="a helper"),
        pytest.param((COMPLETE, DEPLOYMENT), "", id="pods of a Kind that may end"),
        pytest.param((ENDLESS,), "", id="nothing ended"),
    ],
)
def test_components_that_never_end_cause_one_warning_once_all_others_have_ended(
    components: tuple[Component, ...], warned: str
) -> None:
    found = RUNNING.but(components=components, arguments="train -n team1").pods(running=3).decision
    texts = [each for each in found if "ComponentNeverEnds" in each]
    assert texts == ([NEVER_ENDS.format(warned)] if warned else [])


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param({"presence": Presence.GONE}, id="another client deleted it"),
        pytest.param({"terminal": Terminal.FAILED, "reports": True}, id="it failed"),
    ],
)
def test_a_helper_never_fails_the_appwrapper(trouble: dict[str, Any]) -> None:
    assert RUNNING.but(components=(replace(HELPER, **trouble), JOB)).decision == []


SUCCEEDED = RUNNING.but(
    phase=Phase.SUCCEEDED, conditions=frozenset({"ResourcesDeployed", "PodsReady"})
)


@decisions(
    {
        "kept for its logs, suspended or not": (
            SUCCEEDED.since(success=6 * 86400).but(suspend=True),
            "wake after 86400s",
        ),
        "the TTL begins when it is first needed": (
            SUCCEEDED,
            "start success\nwake after 604800s",
        ),
        "the TTL is over": (SUCCEEDED.since(success=7 * 86400), DELETION_BEGINS),
        "all is gone": (SUCCEEDED.since(success=7 * 86400).but(gone=True), DELETION_ENDS),
        "nothing is deployed any more": (SUCCEEDED.but(conditions=frozenset({"PodsReady"})), ""),
    }
)
def test_a_succeeded_appwrapper_keeps_its_components_until_its_ttl(
    situation: Situation, expected: list[str]
) -> None:
    assert situation.decision == expected
