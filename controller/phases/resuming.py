"""Resuming: the components are being created, in order. `deploy` is the only way into it.

Create the missing components; move to Running when all exist, and with them the first pods.
"""

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
)
from controller.phases.ask import Need
from controller.phases.deletion import LOOK_AGAIN
from controller.phases.findings import Finding, current_finding, evacuation, missing_component
from controller.phases.health import namespace_ends, tell_unreadable
from controller.phases.phase import Phase
from controller.phases.readiness import is_ready, report_readiness
from controller.phases.reset_or_fail import fail, hold_on, reset_or_fail, tell_hold
from controller.phases.rows import Row
from controller.phases.snapshot import (
    Component,
    CreateProblem,
    FaultTolerance,
    PodSetInfos,
    Presence,
    Snapshot,
)
from controller.phases.suspending import suspended
from controller.phases.timers import BEGIN, ZERO, remaining
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


def old_objects_remain(
    snapshot: Snapshot, _now: datetime, _config: FaultTolerance
) -> Actions | None:
    """An object of an earlier attempt may still use quota: wait until it is deleted."""
    snapshot.require(Need.OBSERVED)
    # Two attempts never run at once.
    return (WakeAfter(LOOK_AGAIN),) if snapshot.unexpected_alive else None


def cannot_be_created(snapshot: Snapshot, _now: datetime, config: FaultTolerance) -> Actions | None:
    """podSetInfos and pod sets differ in number, or a create can never succeed: Failed."""
    if snapshot.pod_set_infos is PodSetInfos.MISMATCHED:
        message = "podSetInfos and pod sets differ in number"
    elif snapshot.create_problem and snapshot.create_problem.fatal:
        message = snapshot.create_problem.message
    else:
        return None
    finding = Finding(reason=Reason.CREATE_FAILED, message=message, retryable=False)
    return fail(snapshot, finding, config)


def component_was_deleted(
    snapshot: Snapshot, _now: datetime, config: FaultTolerance
) -> Actions | None:
    """Another client deleted a component: Failed, whatever the retry limit."""
    finding = missing_component(snapshot)
    return fail(snapshot, finding, config) if finding else None


def not_planned(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions | None:
    """Another operator began this attempt: record the names that the components will have.

    The other operator recorded them after creating, so unreadable components may exist already.
    """
    if snapshot.planned:
        return None
    if any(each.unreadable for each in snapshot.components):
        return (*tell_unreadable(snapshot), WakeAfter(LOOK_AGAIN))
    begin = BEGIN if snapshot.timers.admission is None else ()
    return (PlanDeployment(), *begin, CreateComponents(), WakeAfter(ZERO))


def name_is_taken(snapshot: Snapshot, now: datetime, _config: FaultTolerance) -> Actions | None:
    """Another object has a component's generated name: record another name, and create it."""
    problem = snapshot.create_problem
    if problem is None or problem.taken is None or _all_exist(snapshot):
        return None
    if problem.retry_at is not None and now < problem.retry_at:
        return None
    index, name = problem.taken
    if snapshot.components[index].name != name:  # chosen already, and not tried yet
        return None
    return (ChooseAnotherName(index), CreateComponents(), WakeAfter(ZERO))


def create_failed(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """A component cannot be created now: retry until AdmissionGracePeriod, then reset or fail."""
    problem = snapshot.create_problem
    if problem is None or _all_exist(snapshot):
        return None
    return _try_again(snapshot, problem, now, config)


# Pods that run so soon cost one write instead of two: Running together with PodsReady.
_SOON: Final = timedelta(seconds=1)


def pods_may_run_soon(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """All components exist, and a second after its start is not over: wait for the pods, unless
    something is wrong.
    """
    began = snapshot.timers.admission
    if began is None or not _all_exist(snapshot) or is_ready(snapshot):
        return None
    is_over = any(each.terminal or each.unreadable for each in snapshot.components)
    if is_over or evacuation(snapshot, now, config) or current_finding(snapshot, now, config):
        return None  # Running answers it
    left = remaining(began, _SOON, now)
    return (WakeAfter(left),) if left > ZERO else None


def all_exist(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Actions | None:
    """All components exist: Running, with PodsReady."""
    if not _all_exist(snapshot):
        return None
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


def component_is_planned(_snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions:
    """Otherwise create the missing components, in order."""
    return (CreateComponents(), WakeAfter(ZERO))


ROWS: Final[tuple[Row, ...]] = (
    suspended,
    namespace_ends,
    cannot_be_created,
    component_was_deleted,
    not_planned,
    name_is_taken,
    create_failed,
    pods_may_run_soon,
    all_exist,
    component_is_planned,
)


def _all_exist(snapshot: Snapshot) -> bool:
    return all(component.presence is not Presence.PLANNED for component in snapshot.components)


def _began_late(snapshot: Snapshot, problem: CreateProblem, config: FaultTolerance) -> bool:
    """True if AdmissionGracePeriod was over before the first failure: no controller was there."""
    if problem.first_at is None or config.admission_grace == ZERO:
        return False
    return remaining(snapshot.timers.admission, config.admission_grace, problem.first_at) == ZERO


def _try_again(
    snapshot: Snapshot, problem: CreateProblem, now: datetime, config: FaultTolerance
) -> Actions:
    """Report the problem in the condition and retry at growing intervals.

    The retries end with AdmissionGracePeriod, or, if the reset must wait after it, with that wait.
    A retry that is due comes first: this process may have been away for the whole period.
    """
    actions: list[Action] = [
        SetCondition(CONDITION_RESOURCES_DEPLOYED, True, Reason.CREATE_FAILED, problem.message)
    ]
    if snapshot.timers.admission is None:  # another operator or client changed the status
        actions += BEGIN
    waits: list[timedelta] = []
    pause = ZERO if problem.retry_at is None else max(ZERO, problem.retry_at - now)
    left = remaining(snapshot.timers.admission, config.admission_grace, now)
    if _began_late(snapshot, problem, config):
        actions += BEGIN
        left = config.admission_grace
    if left > ZERO:
        waits.append(left)
    elif pause > ZERO:
        finding = Finding(reason=Reason.CREATE_FAILED, message=problem.message)
        if (hold := hold_on(snapshot, finding, config)) is None:
            return reset_or_fail(snapshot, finding, config)
        actions += tell_hold(snapshot, finding, hold)
        waits += [] if hold.retry_in is None else [hold.retry_in]
    if pause > ZERO:
        return (*actions, WakeAfter(min([*waits, pause])))
    return (*actions, CreateComponents(), WakeAfter(ZERO))
