"""Trouble with pods: named, given FailureGracePeriod to heal, then answered by a reset."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import (
    Actions,
    ClearTimer,
    Reason,
    RequeueAfter,
    SetCondition,
    StartTimer,
    Timer,
)
from controller.phases.component_words import with_trouble, words_of_failed
from controller.phases.deadlines import ZERO, remaining
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.flapping import not_ready_for, settling_for, unhealthy_for
from controller.phases.missing_component import leaving_component
from controller.phases.periods import in_force, next_deadlines
from controller.phases.readiness import crash_loops, is_ready, report_readiness
from controller.phases.retry_budget import (
    Finding,
    hold_on,
    reset_or_fail,
    tell_hold,
    was_held,
)
from controller.phases.snapshot import ResetHold, Snapshot
from shared.api.names import CONDITION_PODS_READY, CONDITION_UNHEALTHY

Check = Callable[[Snapshot, datetime, FaultTolerance], Finding | None]
Held = tuple[Finding, ResetHold]
Told = tuple[Actions, list[timedelta]]  # and when to look again


def watch_over(
    snapshot: Snapshot, now: datetime, config: FaultTolerance, urgent: Finding | None = None
) -> Actions:
    """PodsReady and Unhealthy of a deployed AppWrapper, and its reset when it does not heal.

    `urgent` is answered without grace. A reset that must wait is told; all else goes on meanwhile.
    """
    finding = first_finding(in_force(snapshot, now), now, config)
    left = remaining(snapshot.timers.failure, config.failure_grace, now)
    held: list[Held] = []
    for due in (urgent, finding if left == ZERO else None):
        if due is None:
            continue
        due = leaving_component(snapshot) or due
        if (hold := hold_on(snapshot, due, config)) is None:
            return reset_or_fail(snapshot, due, config)
        held.append((due, hold))
    sound = finding is None and not held
    trouble, waits = ((), []) if sound else _trouble(snapshot, now, config, finding, held)
    told_now = StartTimer(Timer.UNREADY) in trouble
    readiness = report_readiness(snapshot, now, config, bad_news=told_now)
    if sound:
        trouble, waits = _healed(snapshot, now, config, told_anyhow=bool(readiness))
    elif finding is not None and left > ZERO and not waits:
        waits = [left]
    waits += _looks_at_pods(snapshot, now, config, readiness, finding)
    waits += [hold.retry_in for _, hold in held if hold.retry_in is not None]
    return (*readiness, *trouble, *((RequeueAfter(min(waits)),) if waits else ()))


def first_finding(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Finding | None:
    """The first check that finds something decides."""
    findings = (check(snapshot, now, config) for check in CHECKS)
    return next((finding for finding in findings if finding is not None), None)


def failed_pods(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Finding | None:
    """Pods failed, and nobody has replaced them."""
    pods = snapshot.pods
    if not pods.failed:
        return None
    return Finding(
        reason=Reason.FAILED_PODS,
        message=words_of_failed(pods),
        retryable=not pods.terminal_exit,
    )


def too_few_exist(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Finding | None:
    """AdmissionGracePeriod is over and pods were not even created."""
    pods = snapshot.pods
    if pods.existing >= pods.expected:
        return None
    if remaining(snapshot.timers.admission, config.admission_grace, now) > ZERO:
        return None
    message = with_trouble(f"{pods.existing} of {pods.expected} pods exist", snapshot)
    return Finding(reason=Reason.INSUFFICIENT_PODS_READY, message=message)


def too_few_run(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Finding | None:
    """WarmupGracePeriod is over and pods do not run, or not for long."""
    pods = snapshot.pods
    if is_ready(snapshot):
        return None
    if remaining(snapshot.timers.warmup, config.warmup_grace, now) > ZERO:
        return None
    message = f"{pods.ready} of {pods.expected} pods run or succeeded"
    if pods.pending_named:
        message += f"; not running: {pods.pending_named}"
    if loops := crash_loops(snapshot):
        message += f"; {loops}"
    message = with_trouble(message, snapshot)
    return Finding(reason=Reason.INSUFFICIENT_PODS_READY, message=message)


CHECKS: Final[tuple[Check, ...]] = (failed_pods, too_few_exist, too_few_run)


def _trouble(
    snapshot: Snapshot,
    now: datetime,
    config: FaultTolerance,
    finding: Finding | None,
    held: Sequence[Held],
) -> Told:
    """Unhealthy, with the failure grace period; what is held is told before what may yet heal."""
    reported = CONDITION_UNHEALTHY in snapshot.conditions
    if not reported and (too_soon := unhealthy_for(snapshot, now, config)) > ZERO:
        return (), [too_soon]
    begins = finding is not None and snapshot.timers.failure is None
    words: Actions = ()
    if held:
        words = tell_hold(snapshot, *held[0])
    elif finding is not None and (begins or was_held(snapshot)):
        words = (SetCondition(CONDITION_UNHEALTHY, True, finding.reason, finding.message),)
    grace = (StartTimer(Timer.FAILURE),) if begins else ()
    told_now = (StartTimer(Timer.UNREADY),) if words and not reported else ()
    return (*words, *grace, *told_now), []


def _healed(
    snapshot: Snapshot, now: datetime, config: FaultTolerance, *, told_anyhow: bool
) -> Told:
    """Unhealthy is over. `told_anyhow`: something else is written, so that this may be as well."""
    if CONDITION_UNHEALTHY not in snapshot.conditions and snapshot.timers.failure is None:
        return (), []
    if not told_anyhow and (left := settling_for(snapshot, now, config)) > ZERO:
        return (), [left]
    return (
        SetCondition(CONDITION_UNHEALTHY, False, Reason.NO_FAILED_PODS),
        ClearTimer(Timer.FAILURE),
    ), []


def _looks_at_pods(
    snapshot: Snapshot,
    now: datetime,
    config: FaultTolerance,
    readiness: Actions,
    finding: Finding | None,
) -> list[timedelta]:
    """When pods that are not ready are to be looked at again though nothing changes."""
    if is_ready(snapshot):
        return []
    stable_in = snapshot.pods.stable_in
    looks = [] if stable_in is None else [stable_in]
    if CONDITION_PODS_READY in snapshot.conditions and not readiness:
        return [*looks, not_ready_for(snapshot, now, config)]
    return looks if finding else [*looks, *next_deadlines(snapshot, now, config)]
