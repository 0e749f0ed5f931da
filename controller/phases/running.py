"""Running: the components are deployed; check for success, problems and suspension.

Watch components and pods: report problems, reset, fail or succeed.
"""

from datetime import datetime
from typing import Final

from controller.phases.actions import (
    Actions,
    ClearTimer,
    MoveTo,
    Reason,
    RecordFailures,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
)
from controller.phases.ask import Need
from controller.phases.findings import (
    current_finding,
    evacuation,
    failed_component,
    missing_component,
    unschedulable,
)
from controller.phases.health import namespace_ends, record_healed, tell_unreadable, watch_over
from controller.phases.phase import Phase
from controller.phases.readiness import is_ready
from controller.phases.reset_or_fail import confirm, fail
from controller.phases.rows import Row
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.success_and_stragglers import (
    has_ended_well,
    has_succeeded,
    record_ends,
    remove_the_rest,
)
from controller.phases.suspending import suspended
from controller.phases.timers import ZERO, rejection_due_in, remaining
from shared.api.conditions import Terminal
from shared.api.names import (
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_UNHEALTHY,
)


def with_reports(
    snapshot: Snapshot, actions: Actions, now: datetime, config: FaultTolerance
) -> Actions:
    """Add what is reported beside any row, unless the AppWrapper leaves Running."""
    if snapshot.namespace_ending or any(isinstance(each, MoveTo) for each in actions):
        return actions
    timer = _time_unschedulable(snapshot, config)
    actions = (*tell_unreadable(snapshot), *record_ends(snapshot), *timer, *actions)
    return _with_deadline(snapshot, now, config, actions)


def _time_unschedulable(snapshot: Snapshot, config: FaultTolerance) -> Actions:
    """Record since when no node can hold a pod."""
    holds = bool(config.fail_unschedulable and snapshot.pods.no_node)
    if holds is (snapshot.timers.unschedulable is not None):
        return ()
    timer = Timer.UNSCHEDULABLE
    return (StartTimer(timer) if holds else ClearTimer(timer),)


def _with_deadline(
    snapshot: Snapshot, now: datetime, config: FaultTolerance, actions: Actions
) -> Actions:
    """Wake not later than failUnschedulable ends. Once it is over, a row above may still wait."""
    if not config.fail_unschedulable or not snapshot.pods.no_node:
        return actions
    left = remaining(snapshot.timers.unschedulable, config.fail_unschedulable, now)
    if left == ZERO:
        return actions
    waits = [left, *(each.delay for each in actions if isinstance(each, WakeAfter))]
    others = (each for each in actions if not isinstance(each, WakeAfter))
    return (*others, WakeAfter(min(waits)))


def component_is_missing(
    snapshot: Snapshot, _now: datetime, config: FaultTolerance
) -> Actions | None:
    """Another client deleted a component that had not ended: Failed, whatever the retry limit."""
    finding = missing_component(snapshot)
    # After success the controller itself deletes components.
    if finding is None or has_ended_well(snapshot):
        return None
    return fail(snapshot, finding, config)


def component_gave_up(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """A component reports that it failed: reset or fail, without grace period.

    While the reset waits, the component's TTL may delete it. So the controller records the report:
    after a restart it must not treat the component as missing, for which no retry follows.
    """
    if rejection_due_in(snapshot, now) == ZERO:
        snapshot.require(Need.REJECTIONS)
    if (finding := failed_component(snapshot, config)) is None:
        return None
    actions = watch_over(snapshot, now, config, current_finding(snapshot, now, config), finding)
    moves = any(isinstance(each, MoveTo) for each in actions)
    return actions if moves else (*_record_failures(snapshot), *actions)


def all_ended_well(snapshot: Snapshot, _now: datetime, config: FaultTolerance) -> Actions | None:
    """All components succeeded and no pod runs any more: Succeeded."""
    if not has_succeeded(snapshot):
        return None
    # Success releases the quota, so no unfinished pod may be missing from the cache.
    snapshot.require(Need.LIVE_PODS)
    return _succeed(snapshot, config)


def pods_run_after_end(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """All components succeeded, but pods still run: helpers are deleted at once, pods after
    FailureGracePeriod.
    """
    return remove_the_rest(snapshot, now, config) if has_ended_well(snapshot) else None


def evacuated(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """Running pods use a resource that their node's label evacuates, or a node with pods has been
    unreachable for UnreachableGracePeriod: reset or fail, without grace period.

    The node is the cause, so exit codes are ignored. Usually the reset spends no retry, but one
    must remain. Only Running evacuates. In Resuming, which ends within AdmissionGracePeriod,
    components are still missing, and Running checks evacuations first.
    """
    if (urgent := evacuation(snapshot, now, config)) is None:
        return None
    finding = current_finding(snapshot, now, config)
    return watch_over(snapshot, now, config, finding, urgent)


def fits_no_node(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """No node could hold a pod for FailUnschedulable: Failed, whatever the retry limit."""
    if (finding := unschedulable(snapshot, now, config)) is None:
        return None
    confirm(snapshot, finding, config)  # the pod may have its node by now
    return fail(snapshot, finding, config)


def pods_in_trouble(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """A check of findings.py finds a problem: Unhealthy; after FailureGracePeriod reset or fail."""
    if (finding := current_finding(snapshot, now, config)) is None:
        return None
    return watch_over(snapshot, now, config, finding)


def sound(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """PodsReady: as many pods run, or succeeded, as the AppWrapper has."""
    return watch_over(snapshot, now, config, None)


ROWS: Final[tuple[Row, ...]] = (
    suspended,
    namespace_ends,
    component_is_missing,
    component_gave_up,
    all_ended_well,
    pods_run_after_end,
    evacuated,
    fits_no_node,
    pods_in_trouble,
    sound,
)


def _record_failures(snapshot: Snapshot) -> Actions:
    failures = tuple(
        (index, each.message)
        for index, each in enumerate(snapshot.components)
        if each.terminal is Terminal.FAILED and not (each.helper or each.failure_recorded)
    )
    return (RecordFailures(failures),) if failures else ()


def _succeed(snapshot: Snapshot, config: FaultTolerance) -> Actions:
    """Release the quota at once; keep the resources for SuccessTTL, for their logs."""
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
        *record_healed(snapshot),
        WakeAfter(config.success_ttl),
    )
