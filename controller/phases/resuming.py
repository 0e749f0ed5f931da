"""Resuming: the components are being created, in order."""

from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import (
    Action,
    Actions,
    CreateComponents,
    MoveTo,
    PlanDeployment,
    Reason,
    RecordDeployment,
    RequeueAfter,
    SetCondition,
)
from controller.phases.deadlines import ZERO, remaining
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.missing_component import missing_component
from controller.phases.namespace_end import let_it_end
from controller.phases.periods import BEGIN
from controller.phases.phase import Phase
from controller.phases.readiness import report_readiness
from controller.phases.retry_budget import (
    Finding,
    fail,
    hold_on,
    reset_or_fail,
    tell_hold,
)
from controller.phases.snapshot import CreateProblem, PodSetInfos, Presence, Snapshot
from controller.phases.suspending import suspend
from shared.api.names import CONDITION_RESOURCES_DEPLOYED

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
        return let_it_end()
    if finding := _hopeless(snapshot):
        return fail(snapshot, finding, config)
    if not snapshot.planned:  # another operator began this, and recorded names after creating
        return (PlanDeployment(), *BEGIN, CreateComponents(), RequeueAfter(ZERO))
    if all(component.presence is not Presence.PLANNED for component in snapshot.components):
        return (
            MoveTo(Phase.RUNNING, Reason.DEPLOYED),
            RecordDeployment(),
            SetCondition(CONDITION_RESOURCES_DEPLOYED, True, Reason.DEPLOYED),
            *report_readiness(snapshot, now, config),
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
    """What is in the way is said in the condition; it is tried at growing intervals.

    Until AdmissionGracePeriod is over, and after that as long as the reset must wait.
    """
    said: list[Action] = [
        SetCondition(CONDITION_RESOURCES_DEPLOYED, True, Reason.CREATE_FAILED, problem.message)
    ]
    if snapshot.timers.admission is None:  # taken over, or changed by others
        said += BEGIN
    waits: list[timedelta] = []
    left = remaining(snapshot.timers.admission, config.admission_grace, now)
    if left > ZERO:
        waits.append(left)
    else:
        finding = Finding(reason=Reason.CREATE_FAILED, message=problem.message)
        if (hold := hold_on(snapshot, finding, config)) is None:
            return reset_or_fail(snapshot, finding, config)
        said += tell_hold(snapshot, finding, hold)
        waits += [] if hold.retry_in is None else [hold.retry_in]
    if problem.retry_at is not None and now < problem.retry_at:
        return (*said, RequeueAfter(min([*waits, problem.retry_at - now])))
    return (*said, CreateComponents(), RequeueAfter(ZERO))
