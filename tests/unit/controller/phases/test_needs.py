"""What a decision needs to be seen, declared as data."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.phases.actions import MoveTo, WakeAfter
from controller.phases.needs import Need, needs, needs_before
from controller.phases.phase import Phase, Reason
from controller.phases.snapshot import (
    CreateProblem,
    FaultTolerance,
    PodCounts,
    PodSetInfos,
    Presence,
    Queueing,
    Snapshot,
    Timers,
)
from shared.api.conditions import Terminal
from tests.support import decisions
from tests.support.decisions import CONFIG
from tests.support.moments import NOW

JOB = replace(decisions.JOB, expected_pods=2)
OLD_RULES = FaultTolerance(error_aggregation="default")
# Nothing but the exit codes asks for pods.
CODES = replace(OLD_RULES, remember_suspects=False, retryable_exit_codes=frozenset({7}))
ENDED = replace(JOB, terminal=Terminal.SUCCEEDED)
FAILED = replace(JOB, terminal=Terminal.FAILED)
SUCCEEDED = Snapshot(
    phase=Phase.SUCCEEDED, conditions=frozenset({"ResourcesDeployed"}), components=(ENDED,)
)
QUEUED = Snapshot(phase=Phase.SUSPENDED, queued=True)
RUNNING = Snapshot(
    phase=Phase.RUNNING, components=(JOB,), pods=PodCounts(expected=2, running=2), labelled_pods=2
)
ALL_ENDED = replace(RUNNING, components=(ENDED,), pods=PodCounts(expected=2, succeeded=2))
ITS_PODS_ENDED = replace(
    ALL_ENDED,
    components=(replace(JOB, kind="Deployment", reports=False),),
    pods=PodCounts(expected=2, succeeded=2, loose_succeeded=2),
)
BEGUN = Timers(success=NOW - timedelta(minutes=1))
STRAGGLE = Timers(stragglers=NOW)
DEPLOYED = {Need.DEPLOYED}


def case(name: str, expected: set[Need], snapshot: Snapshot, *, config: Any = CONFIG) -> Any:
    return pytest.param(snapshot, config, expected, id=name)


@pytest.mark.parametrize(
    ("snapshot", "config", "expected"),
    [
        case("nothing was deployed", set(), Snapshot(phase=Phase.EMPTY)),
        case("it waits for Kueue", {Need.KUEUE, Need.QUEUE}, QUEUED),
        case("Kueue suspends it", {Need.QUEUE}, replace(QUEUED, suspend=True)),
        case(
            "Kueue makes nothing of it",
            {Need.QUEUE, Need.KUEUE_SETTINGS},
            replace(
                QUEUED,
                suspend=True,
                queueing=Queueing(workload=False),
            ),
        ),
        case("suspended by its user", set(), Snapshot(phase=Phase.SUSPENDED, suspend=True)),
        case("admitted", set(), replace(QUEUED, pod_set_infos=PodSetInfos.COMPLETE)),
        case(
            "deleted",
            {Need.DEPLOYED, Need.PROOF},
            replace(QUEUED, deletion_requested=True, finalizer=True),
        ),
        case("deleted, and not ours to hold", DEPLOYED, replace(QUEUED, deletion_requested=True)),
        case("under way", DEPLOYED, RUNNING),
        case(
            "reset",
            {Need.DEPLOYED, Need.PROOF_SAVE_KEPT},
            replace(RUNNING, phase=Phase.RESETTING),
        ),
        case(
            "suspended, and something is left",
            {Need.DEPLOYED, Need.PROOF_SAVE_KEPT},
            replace(RUNNING, phase=Phase.SUSPENDING, queued=True),
        ),
        case(
            "suspended, and all is gone",
            {Need.DEPLOYED, Need.PROOF_SAVE_KEPT, Need.EVICTION},
            Snapshot(phase=Phase.SUSPENDING, queued=True, gone=True),
        ),
        case(
            "suspended by whoever started it",
            {Need.DEPLOYED, Need.PROOF_SAVE_KEPT},
            Snapshot(phase=Phase.SUSPENDING, gone=True),
        ),
        case(
            "after the reset it pauses",
            DEPLOYED,
            Snapshot(phase=Phase.RESETTING, timers=Timers(retry_pause=NOW)),
        ),
        case(
            "it cannot be created",
            {Need.DEPLOYED, Need.NAMESPACE},
            Snapshot(phase=Phase.RESUMING, create_problem=CreateProblem(False, "403")),
        ),
        case(
            "a component is gone",
            {Need.DEPLOYED, Need.NAMESPACE},
            replace(RUNNING, components=(replace(JOB, presence=Presence.GONE),)),
        ),
        case(
            "it failed, and the root cause decides: another pod may have failed before those known",
            {Need.DEPLOYED, Need.NAMESPACE, Need.LIVE_PODS},
            replace(RUNNING, components=(FAILED,), pods=PodCounts(expected=2, failed=1)),
        ),
        case(
            "it failed, and a pod is known that did, where no root cause decides",
            {Need.DEPLOYED, Need.NAMESPACE},
            replace(RUNNING, components=(FAILED,), pods=PodCounts(expected=2, failed=1)),
            config=OLD_RULES,
        ),
        case(
            "it failed, and no pod is known that did",
            {Need.DEPLOYED, Need.NAMESPACE, Need.LIVE_PODS},
            replace(RUNNING, components=(FAILED,)),
        ),
        case(
            "it failed, and no node is ever suspected",
            {Need.DEPLOYED, Need.NAMESPACE},
            replace(RUNNING, components=(FAILED,)),
            config=replace(OLD_RULES, remember_suspects=False),
        ),
        case(
            "it failed, and exit codes count",
            {Need.DEPLOYED, Need.NAMESPACE, Need.LIVE_PODS},
            replace(RUNNING, components=(FAILED,)),
            config=CODES,
        ),
        case("all ended", {Need.DEPLOYED, Need.LIVE_PODS}, ALL_ENDED),
        case("all ended, by its pods alone", {Need.DEPLOYED, Need.LIVE_PODS}, ITS_PODS_ENDED),
        case(
            "all ended by its pods, and others are under way",
            DEPLOYED,
            replace(ITS_PODS_ENDED, pods=replace(ITS_PODS_ENDED.pods, running=1)),
        ),
        case(
            "all ended, and a pod is under way",
            {Need.DEPLOYED, Need.LIVE_PODS},
            replace(ALL_ENDED, pods=PodCounts(succeeded=1, outliving=1)),
        ),
        case(
            "such a pod has time",
            DEPLOYED,
            replace(ALL_ENDED, pods=PodCounts(succeeded=1, outliving=1), timers=STRAGGLE),
        ),
        case("succeeded, and its TTL lasts", DEPLOYED, replace(SUCCEEDED, timers=BEGUN)),
        case(
            "succeeded, and its TTL is over",
            {Need.DEPLOYED, Need.PROOF},
            replace(SUCCEEDED, timers=Timers(success=NOW - CONFIG.success_ttl)),
        ),
        case("its pods alone tell", DEPLOYED, replace(RUNNING, pods=PodCounts(succeeded=2))),
    ],
)
def test_needs(snapshot: Snapshot, config: FaultTolerance, expected: set[Need]) -> None:
    assert needs(snapshot, NOW, config) == expected


@pytest.mark.parametrize(
    ("phase", "reason", "live"),
    [
        (Phase.RESETTING, Reason.FAILED_PODS, True),
        (Phase.RESETTING, Reason.INSUFFICIENT_PODS_READY, True),
        (Phase.RESETTING, Reason.FAILED_COMPONENT, False),
        (Phase.RESETTING, Reason.AUTOPILOT_NO_EXECUTE, False),
        (Phase.FAILED, Reason.FAILED_PODS, True),
        (Phase.FAILED, Reason.AUTOPILOT_NO_EXECUTE, True),
        (Phase.FAILED, Reason.MISSING_COMPONENT, False),
        (Phase.SUSPENDING, Reason.SUSPENDING, False),
    ],
)
def test_live_reads_are_needed_before_an_end(phase: Phase, reason: Reason, live: bool) -> None:
    actions = (MoveTo(phase, reason), WakeAfter(timedelta(0)))
    expected = {Need.LIVE_PODS} if live else set()
    expected |= {Need.LIVE_LABELS} if reason is Reason.AUTOPILOT_NO_EXECUTE else set()
    assert needs_before(actions, RUNNING, FaultTolerance()) == expected


@pytest.mark.parametrize(
    ("phase", "reason", "wanted"),
    [
        (Phase.RESETTING, Reason.FAILED_PODS, True),
        (Phase.RESETTING, Reason.INSUFFICIENT_PODS_READY, True),
        (Phase.RESETTING, Reason.FAILED_COMPONENT, True),
        (Phase.RESETTING, Reason.AUTOPILOT_NO_EXECUTE, False),
        (Phase.RESETTING, Reason.CREATE_FAILED, False),
        (Phase.FAILED, Reason.FAILED_COMPONENT, True),
        (Phase.FAILED, Reason.AUTOPILOT_NO_EXECUTE, False),
        (Phase.FAILED, Reason.MISSING_COMPONENT, False),
        (Phase.SUSPENDING, Reason.SUSPENDING, False),
    ],
)
def test_the_store_is_read_before_a_failure_is_answered(
    phase: Phase, reason: Reason, wanted: bool
) -> None:
    actions = (MoveTo(phase, reason), WakeAfter(timedelta(0)))
    config = FaultTolerance(error_store="team")
    assert (Need.RECORDS in needs_before(actions, RUNNING, config)) is wanted
    for other, seen in (
        (replace(config, error_store=""), RUNNING),
        (replace(config, error_aggregation="off"), RUNNING),
        (config, replace(RUNNING, store_read=True)),
    ):
        assert Need.RECORDS not in needs_before(actions, seen, other)
    shown = replace(config, error_aggregation="default")
    assert (Need.RECORDS in needs_before(actions, RUNNING, shown)) is wanted
