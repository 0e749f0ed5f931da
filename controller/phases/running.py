"""Running: the components are deployed; check for success, problems and suspension."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from controller.phases.actions import (
    Actions,
    MoveTo,
    Reason,
    RecordFailures,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
)
from controller.phases.ask import Need
from controller.phases.failures import failure, record_healed
from controller.phases.health import (
    evacuation,
    is_namespace_ending,
    missing_component,
    tell_unreadable,
    wait_for_namespace,
    watch_over,
)
from controller.phases.phase import Phase
from controller.phases.readiness import is_ready
from controller.phases.retries import Finding, fail
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.phases.success import (
    has_ended_well,
    has_succeeded,
    record_ends,
    remove_the_rest,
    words_of,
    words_of_failed,
)
from controller.phases.suspending import suspend
from controller.phases.timers import ZERO, rejection_due_in
from shared.api.conditions import Terminal
from shared.api.names import (
    CONDITION_PODS_READY,
    CONDITION_QUOTA_RESERVED,
    CONDITION_UNHEALTHY,
)


def decide_running(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Check the rows below in order; the first that applies decides."""
    snapshot.require(Need.OBSERVED)
    decisions = (row(snapshot, now, config) for row in ROWS)
    actions = next(actions for actions in decisions if actions is not None)
    if snapshot.namespace_ending or any(isinstance(each, MoveTo) for each in actions):
        return actions
    return (*tell_unreadable(snapshot), *actions)


def suspended(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions | None:
    """Kueue or a user suspended it: Suspending."""
    return suspend(snapshot) if snapshot.suspend else None


def namespace_ends(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions | None:
    """Its namespace is being deleted: nothing, whatever else is deleted."""
    return wait_for_namespace() if is_namespace_ending(snapshot) else None


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
    actions = watch_over(snapshot, now, config, finding)
    moves = any(isinstance(each, MoveTo) for each in actions)
    return actions if moves else (*_record_failures(snapshot), *actions)


def all_ended_well(snapshot: Snapshot, _now: datetime, config: FaultTolerance) -> Actions | None:
    """All components succeeded and no pod runs any more: Succeeded."""
    if not has_succeeded(snapshot):
        return None
    # Success releases the quota, so no unfinished pod may be missing from the cache.
    snapshot.require(Need.LIVE_PODS)
    return _succeed(snapshot, config)


def pods_outlive(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """All components succeeded, but pods still run: helpers are deleted at once, pods after
    FailureGracePeriod.
    """
    return remove_the_rest(snapshot, now, config) if has_ended_well(snapshot) else None


def under_way(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """Report PodsReady and Unhealthy, and evacuate if a node's label requires it."""
    return (*record_ends(snapshot), *watch_over(snapshot, now, config, evacuation(snapshot)))


# docs/users/phases.md shows the first paragraph of each row's docstring. The last always applies.
Row = Callable[[Snapshot, datetime, FaultTolerance], Actions | None]
ROWS: Final[tuple[Row, ...]] = (
    suspended,
    namespace_ends,
    component_is_missing,
    component_gave_up,
    all_ended_well,
    pods_outlive,
    under_way,
)


def failed_component(snapshot: Snapshot, config: FaultTolerance) -> Finding | None:
    """Return the finding about components that failed; None without one. Helpers do not count.

    A component that reports its failure has given up, so no grace period can help.
    """
    failed = [
        each for each in snapshot.components if each.terminal is Terminal.FAILED and not each.helper
    ]
    if not failed:
        return None
    if invalid := [each for each in failed if each.invalid]:
        names = ", ".join(f"{each.kind} {each.name}" for each in invalid)
        return Finding(
            reason=Reason.FAILED_COMPONENT,
            message=words_of(invalid),
            logged=names,
            retryable=False,
            why_terminal="no retry: the operator rejects the component",
        )
    pods = snapshot.pods
    why = f"; {words_of_failed(pods)}" if pods.failed_named else ""
    return failure(
        snapshot,
        config,
        Reason.FAILED_COMPONENT,
        words_of(failed) + why,
        logged=", ".join(f"{each.kind} {each.name}" for each in failed) + why,
        terminal_exit=pods.terminal_exit,
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
