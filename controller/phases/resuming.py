"""Resuming: the components are being created, in order."""

from datetime import datetime
from typing import Final

from controller.phases.actions import (
    Actions,
    CreateComponents,
    MoveTo,
    PlanDeployment,
    Reason,
    RecordDeployment,
    RequeueAfter,
    SetCondition,
    StartTimer,
    Timer,
)
from controller.phases.deadlines import ZERO, remaining
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.missing_component import missing_component
from controller.phases.phase import Phase
from controller.phases.readiness import report_readiness
from controller.phases.retry_budget import Finding, fail, reset_or_fail
from controller.phases.snapshot import CreateProblem, PodSetInfos, Presence, Snapshot
from controller.phases.suspending import suspend
from shared.api.names import CONDITION_RESOURCES_DEPLOYED

# Both begin with Resuming; of one that was taken over, or changed by others, when first seen.
_PERIODS: Final = (StartTimer(Timer.ADMISSION), StartTimer(Timer.WARMUP))
_MISMATCH: Final = Finding(
    reason=Reason.CREATE_FAILED,
    message="podSetInfos are of another number than the pod sets",
    retryable=False,
)


def decide_resuming(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Create what is not there; Running once everything is."""
    if snapshot.suspend:
        return suspend(snapshot)
    if snapshot.namespace_ending:
        return ()
    if finding := _hopeless(snapshot):
        return fail(snapshot, finding, config)
    if not snapshot.planned:  # another operator began this, and recorded names after creating
        return (PlanDeployment(), *_PERIODS, CreateComponents(), RequeueAfter(ZERO))
    if all(component.presence is not Presence.PLANNED for component in snapshot.components):
        return (
            MoveTo(Phase.RUNNING, Reason.DEPLOYED),
            RecordDeployment(),
            SetCondition(CONDITION_RESOURCES_DEPLOYED, True, Reason.DEPLOYED),
            *report_readiness(snapshot),
            RequeueAfter(ZERO),
        )
    if problem := snapshot.create_problem:
        return _try_again(snapshot, problem, now, config)
    return (CreateComponents(), RequeueAfter(ZERO))


def _hopeless(snapshot: Snapshot) -> Finding | None:
    """What no retry puts right. Fatal for the AppWrapper, whatever its retry limit."""
    if snapshot.pod_set_infos is PodSetInfos.MISMATCHED:
        return _MISMATCH
    problem = snapshot.create_problem
    if problem and problem.fatal:
        return Finding(reason=Reason.CREATE_FAILED, message=problem.message, retryable=False)
    return missing_component(snapshot)


def _try_again(
    snapshot: Snapshot, problem: CreateProblem, now: datetime, config: FaultTolerance
) -> Actions:
    """What is in the way is said in the condition; it is tried at growing intervals."""
    told = SetCondition(CONDITION_RESOURCES_DEPLOYED, True, Reason.CREATE_FAILED, problem.message)
    began = _PERIODS if snapshot.timers.admission is None else ()
    left = remaining(snapshot.timers.admission, config.admission_grace, now)
    if left == ZERO:
        finding = Finding(reason=Reason.CREATE_FAILED, message=problem.message)
        return reset_or_fail(snapshot, finding, config)
    if problem.retry_at is not None and now < problem.retry_at:
        return (told, *began, RequeueAfter(min(left, problem.retry_at - now)))
    return (told, *began, CreateComponents(), RequeueAfter(ZERO))
