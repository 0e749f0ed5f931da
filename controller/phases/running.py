"""Running: the components are deployed; watch for success, for trouble and for suspension."""

from datetime import datetime

from controller.phases.actions import (
    Actions,
    MoveTo,
    Reason,
    RequeueAfter,
    SetCondition,
    StartTimer,
    Timer,
)
from controller.phases.component_words import words_of
from controller.phases.evacuation import evacuation
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.missing_component import missing_component
from controller.phases.namespace_end import let_it_end
from controller.phases.phase import Phase
from controller.phases.readiness import is_ready
from controller.phases.retry_budget import Finding, fail
from controller.phases.snapshot import Snapshot, Terminal
from controller.phases.success import (
    has_ended_well,
    has_succeeded,
    record_ends,
    remove_the_rest,
)
from controller.phases.suspending import suspend
from controller.phases.unhealthiness import watch_over
from shared.api.names import (
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_UNHEALTHY,
)


def decide_running(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """The rows of specification 4, from top to bottom; the first that applies decides."""
    if snapshot.suspend:
        return suspend(snapshot)
    if snapshot.namespace_ending:
        return let_it_end()
    finding = missing_component(snapshot)
    if finding and not has_ended_well(snapshot):  # then the rest is being removed, by us
        return fail(snapshot, finding, config)
    if finding := failed_component(snapshot):
        return watch_over(snapshot, now, config, finding)
    if has_succeeded(snapshot):
        return _succeed(snapshot, config)
    if has_ended_well(snapshot):
        return remove_the_rest(snapshot, now, config)
    return (*record_ends(snapshot), *watch_over(snapshot, now, config, evacuation(snapshot)))


def failed_component(snapshot: Snapshot) -> Finding | None:
    """A component gave up by itself, so no grace period can help. Helpers may."""
    failed = [
        each for each in snapshot.components if each.terminal is Terminal.FAILED and not each.helper
    ]
    if not failed:
        return None
    return Finding(
        reason=Reason.FAILED_COMPONENT,
        message=words_of(failed),
        retryable=not snapshot.pods.terminal_exit,
    )


def _succeed(snapshot: Snapshot, config: FaultTolerance) -> Actions:
    """The quota goes back at once; the resources stay for SuccessTTL, for their logs."""
    settled: list[SetCondition] = []
    if CONDITION_PODS_READY not in snapshot.conditions and is_ready(snapshot):
        settled.append(SetCondition(CONDITION_PODS_READY, True, Reason.SUFFICIENT_PODS_READY))
    if CONDITION_UNHEALTHY in snapshot.conditions:
        settled.append(SetCondition(CONDITION_UNHEALTHY, False, Reason.SUCCEEDED))
    return (
        MoveTo(Phase.SUCCEEDED, Reason.SUCCEEDED),
        StartTimer(Timer.SUCCESS),
        SetCondition(CONDITION_QUOTA_RESERVED, False, Reason.SUCCEEDED),
        *settled,
        RequeueAfter(config.success_ttl),
    )
