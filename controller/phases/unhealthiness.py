"""Trouble with pods: named, given FailureGracePeriod to heal, then answered by a reset."""

from collections.abc import Callable
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
from controller.phases.deadlines import ZERO, remaining
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.readiness import is_ready, report_readiness
from controller.phases.retry_budget import Finding, reset_or_fail
from controller.phases.snapshot import Snapshot
from shared.api.names import CONDITION_UNHEALTHY

Check = Callable[[Snapshot, datetime, FaultTolerance], Finding | None]


def watch_over(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """PodsReady and Unhealthy of a deployed AppWrapper, and its reset when it does not heal."""
    finding = first_finding(snapshot, now, config)
    if finding is None:
        return (*report_readiness(snapshot), *_healed(snapshot), *_next_look(snapshot, now, config))
    left = remaining(snapshot.timers.failure, config.failure_grace, now)
    if left == ZERO:
        return reset_or_fail(snapshot, finding, config)
    began = (
        (
            SetCondition(CONDITION_UNHEALTHY, True, finding.reason, finding.message),
            StartTimer(Timer.FAILURE),
        )
        if snapshot.timers.failure is None
        else ()
    )
    return (*report_readiness(snapshot), *began, RequeueAfter(left))


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
        message=f"{pods.failed} failed pods",
        retryable=not pods.terminal_exit,
    )


def too_few_exist(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Finding | None:
    """AdmissionGracePeriod is over and pods were not even created."""
    pods = snapshot.pods
    if pods.existing >= pods.expected:
        return None
    if remaining(snapshot.timers.admission, config.admission_grace, now) > ZERO:
        return None
    message = f"{pods.existing} of {pods.expected} pods exist"
    return Finding(reason=Reason.INSUFFICIENT_PODS_READY, message=message)


def too_few_run(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Finding | None:
    """WarmupGracePeriod is over and pods do not run."""
    pods = snapshot.pods
    if is_ready(snapshot):
        return None
    if remaining(snapshot.timers.warmup, config.warmup_grace, now) > ZERO:
        return None
    message = f"{pods.ready} of {pods.expected} pods run or succeeded"
    return Finding(reason=Reason.INSUFFICIENT_PODS_READY, message=message)


CHECKS: Final[tuple[Check, ...]] = (failed_pods, too_few_exist, too_few_run)


def _healed(snapshot: Snapshot) -> Actions:
    if CONDITION_UNHEALTHY not in snapshot.conditions and snapshot.timers.failure is None:
        return ()
    return (
        SetCondition(CONDITION_UNHEALTHY, False, Reason.NO_FAILED_PODS),
        ClearTimer(Timer.FAILURE),
    )


def _next_look(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """The next deadline that could turn this healthy AppWrapper into an unhealthy one."""
    pods = snapshot.pods
    if is_ready(snapshot):
        return ()
    waits: list[timedelta] = [remaining(snapshot.timers.warmup, config.warmup_grace, now)]
    if pods.existing < pods.expected:
        waits.append(remaining(snapshot.timers.admission, config.admission_grace, now))
    return (RequeueAfter(min(waits)),)
