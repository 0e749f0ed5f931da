"""Resuming: the components are being created, in order. `deploy` is the only way into it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import (
    Action,
    Actions,
    AddFinalizer,
    ChooseAnotherName,
    CreateComponents,
    MoveTo,
    PlanDeployment,
    Reason,
    RecordDeployment,
    RecordRefusal,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
    reporting,
)
from controller.phases.ask import Need
from controller.phases.deletion import LOOK_AGAIN
from controller.phases.health import (
    is_namespace_ending,
    missing_component,
    tell_unreadable,
    wait_for_namespace,
)
from controller.phases.phase import Phase
from controller.phases.readiness import report_readiness
from controller.phases.retries import Finding, fail, hold_on, reset_or_fail, tell_hold
from controller.phases.snapshot import (
    Component,
    CreateProblem,
    FaultTolerance,
    PodSetInfos,
    Presence,
    Snapshot,
)
from controller.phases.suspending import suspend
from controller.phases.timers import BEGIN, ZERO, remaining
from controller.reports.resources_deployed import CannotCreate
from shared.api.names import (
    CONDITION_PODS_READY,
    CONDITION_RESOURCES_DEPLOYED,
    CONDITION_UNHEALTHY,
)

# A component that the API server refused to create.


def record_refusal(problem: CreateProblem, components: Sequence[Component]) -> Actions:
    """Record the refusal once, in any phase, because only this process knows it.

    The proof that everything is gone needs it. If the controller may neither create nor read a
    Kind, only the refusal proves that no object exists.
    """
    if problem.refused is None:
        return ()
    if not any(each.announced for each in components[problem.refused :][:1]):
        return ()  # recorded already
    return (RecordRefusal(problem.refused, problem.message),)


def record_created(components: Sequence[Component]) -> Actions:
    """Record the existing components while another component cannot be created.

    Usually one write records all components when the last one exists. Here that may take a while.
    Another operator that takes over would create unrecorded components with generated names again.
    """
    made = tuple(
        index
        for index, each in enumerate(components)
        if each.announced and each.presence in (Presence.PRESENT, Presence.DELETING)
    )
    return (RecordDeployment(made),) if made else ()


# The only way into Resuming, for the first attempt and for every retry.


def deploy(snapshot: Snapshot, reason: Reason, quota: Actions = ()) -> Actions:
    """Record the planned components and create them. `quota`: the report of QuotaReserved.

    QuotaReserved must be True before the first resource exists; in a retry it is True already.
    Unhealthy turns False because it describes only the current execution.
    """
    finalizer = () if snapshot.finalizer else (AddFinalizer(),)
    return (
        *finalizer,
        MoveTo(Phase.RESUMING, reason),
        PlanDeployment(),
        StartTimer(Timer.ADMISSION),
        StartTimer(Timer.WARMUP),
        *quota,
        SetCondition(CONDITION_RESOURCES_DEPLOYED, True, Reason.RESUMING),
        SetCondition(CONDITION_PODS_READY, False, Reason.RESUMING),
        SetCondition(CONDITION_UNHEALTHY, False, Reason.RESUMING),
        CreateComponents(),
        WakeAfter(ZERO),
    )


_MISMATCH: Final = Finding(
    reason=Reason.CREATE_FAILED,
    message="podSetInfos and pod sets differ in number",
    retryable=False,
)


def decide_resuming(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions:
    """Create the missing components; move to Running when all exist."""
    if snapshot.suspend:
        return suspend(snapshot)
    snapshot.require(Need.OBSERVED)
    if is_namespace_ending(snapshot):
        return wait_for_namespace()
    if finding := _hopeless(snapshot):
        return fail(snapshot, finding, config)
    unread = [each for each in snapshot.components if each.unreadable]
    if unread and not snapshot.planned:  # components of another operator may exist already
        return (*tell_unreadable(snapshot), WakeAfter(LOOK_AGAIN))
    if not snapshot.planned:  # another operator began this, and recorded names after creating
        begin = BEGIN if snapshot.timers.admission is None else ()
        return (PlanDeployment(), *begin, CreateComponents(), WakeAfter(ZERO))
    if all(component.presence is not Presence.PLANNED for component in snapshot.components):
        # A period that is over before the pods could use it begins again: the process slept between
        # the status write and the creates.
        timers = snapshot.timers
        late = ZERO in (
            remaining(timers.admission, config.admission_grace, now),
            remaining(timers.warmup, config.warmup_grace, now),
        )
        return (
            MoveTo(Phase.RUNNING, Reason.DEPLOYED),
            RecordDeployment(),
            *(BEGIN if late else ()),
            SetCondition(CONDITION_RESOURCES_DEPLOYED, True, Reason.DEPLOYED),
            *report_readiness(snapshot, now, config),
            WakeAfter(ZERO),
        )
    if (problem := snapshot.create_problem) is None:
        return (CreateComponents(), WakeAfter(ZERO))
    return _choose_another_name(snapshot, problem, now) or _try_again(
        snapshot, problem, now, config
    )


def _choose_another_name(snapshot: Snapshot, problem: CreateProblem, now: datetime) -> Actions:
    """Record another name before the create if another object has the recorded, generated one."""
    if problem.taken is None or (problem.retry_at is not None and now < problem.retry_at):
        return ()
    index, name = problem.taken
    if snapshot.components[index].name != name:  # chosen already, and not tried yet
        return ()
    return (ChooseAnotherName(index), CreateComponents(), WakeAfter(ZERO))


def _hopeless(snapshot: Snapshot) -> Finding | None:
    """Return a problem that no retry can solve, whatever the retry limit; None without one."""
    if snapshot.pod_set_infos is PodSetInfos.MISMATCHED:
        return _MISMATCH
    problem = snapshot.create_problem
    if problem and problem.fatal:
        return Finding(reason=Reason.CREATE_FAILED, message=problem.message, retryable=False)
    return missing_component(snapshot)


def _try_again(
    snapshot: Snapshot, problem: CreateProblem, now: datetime, config: FaultTolerance
) -> Actions:
    """Report the problem in the condition and retry at growing intervals.

    The retries end with AdmissionGracePeriod, or, if the reset must wait after it, with that wait.
    A retry that is due comes first: this process may have been away for the whole period.
    """
    said: list[Action] = [reporting(CannotCreate(problem=problem.message))]
    if snapshot.timers.admission is None:  # another operator or client changed the status
        said += BEGIN
    waits: list[timedelta] = []
    pause = ZERO if problem.retry_at is None else max(ZERO, problem.retry_at - now)
    left = remaining(snapshot.timers.admission, config.admission_grace, now)
    if left > ZERO:
        waits.append(left)
    elif pause > ZERO:
        finding = Finding(reason=Reason.CREATE_FAILED, message=problem.message)
        if (hold := hold_on(snapshot, finding, config)) is None:
            return reset_or_fail(snapshot, finding, config)
        said += tell_hold(snapshot, finding, hold)
        waits += [] if hold.retry_in is None else [hold.retry_in]
    if pause > ZERO:
        return (*said, WakeAfter(min([*waits, pause])))
    return (*said, CreateComponents(), WakeAfter(ZERO))
