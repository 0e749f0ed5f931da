"""Find problems of a Running AppWrapper, report them, and answer them with a reset."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import (
    Actions,
    ClearTimer,
    Reason,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
    reporting,
)
from controller.phases.ask import Need
from controller.phases.evidence import Wait, confirm, wait_for_evidence
from controller.phases.failures import failure, record_healed, would_repeat_report
from controller.phases.readiness import (
    crash_loops,
    is_ready,
    message_due_in,
    not_ready_for,
    report_readiness,
    runs_as_wanted,
    settling_for,
    unhealthy_for,
)
from controller.phases.retries import (
    Finding,
    hold_on,
    reset_or_fail,
    tell_hold,
    unhealthy,
    was_held,
)
from controller.phases.snapshot import (
    Component,
    ConditionText,
    FaultTolerance,
    HoldReason,
    PodCounts,
    Presence,
    ResetHold,
    Snapshot,
)
from controller.phases.success import with_trouble, words_of_failed
from controller.phases.timers import ZERO, in_force, next_deadlines, remaining
from controller.reports.resources_deployed import ComponentsUnreadable, NamespaceTerminating
from shared.api.conditions import Terminal
from shared.api.names import CONDITION_PODS_READY, CONDITION_RESOURCES_DEPLOYED, CONDITION_UNHEALTHY

# A namespace that is being deleted, and everything in it.


def is_namespace_ending(snapshot: Snapshot) -> bool:
    """True if the namespace is being deleted; it matters only if it explains a problem."""
    if snapshot.create_problem or any(map(_is_in_trouble, snapshot.components)):
        snapshot.require(Need.NAMESPACE)
    return snapshot.namespace_ending


def _is_in_trouble(component: Component) -> bool:
    return component.presence is Presence.GONE or component.terminal is Terminal.FAILED


def wait_for_namespace() -> Actions:
    """Report that the namespace is being deleted, and wait: deleted objects are no failure."""
    return (reporting(NamespaceTerminating()),)


# A component that another client deleted.


def missing_component(snapshot: Snapshot) -> Finding | None:
    """Return the finding about components that another client deleted; None without one.

    No retry follows: creating the component again would act against that client. A component that
    had reported its end is not missing, because a TTL deletes Jobs. A helper does not count either:
    the other components continue without it.
    """
    return _deleted(snapshot, Presence.GONE)


def leaving_component(snapshot: Snapshot) -> Finding | None:
    """Return the finding about components that another client is deleting; None without one.

    Such a component is missing only after its pods have ended. Foreground deletion or a long
    terminationGracePeriodSeconds takes time, and the pods fail meanwhile. The client that stopped
    the component must not cause another attempt. Bare pods are excluded because Kubernetes deletes
    them too: on a silent node such a pod never ends, and needs another attempt.
    """
    others = tuple(each for each in snapshot.components if each.kind != "Pod")
    return _deleted(replace(snapshot, components=others), Presence.DELETING)


def _deleted(snapshot: Snapshot, presence: Presence) -> Finding | None:
    missing = [
        f"{component.kind} {component.name}"
        for component in snapshot.components
        if component.presence is presence and component.terminal is None and not component.helper
    ]
    if not missing:
        return None
    return Finding(
        reason=Reason.MISSING_COMPONENT,
        message="deleted by another client: " + ", ".join(missing),
        retryable=False,
    )


# A component that cannot be read.


def tell_unreadable(snapshot: Snapshot) -> Actions:
    """Report components that cannot be read. This is no failure: their pods keep running."""
    unreadable = [each for each in snapshot.components if each.unreadable]
    if not unreadable:
        said = snapshot.told.get(CONDITION_RESOURCES_DEPLOYED, ConditionText(""))
        over = said.reason == Reason.COMPONENT_UNREADABLE
        return (SetCondition(CONDITION_RESOURCES_DEPLOYED, True, Reason.DEPLOYED),) if over else ()
    names = tuple(f"{each.kind} {each.name}" for each in unreadable)
    report = ComponentsUnreadable(components=names, why=unreadable[0].unreadable)
    return (reporting(report),) if snapshot.is_news(report) else ()


# Pods that must leave their nodes at once.


def evacuation(snapshot: Snapshot) -> Finding | None:
    """Running pods use a resource that their node's label evacuates: reset or fail, without grace
    period.

    The node is the cause, so exit codes are ignored. Usually the reset spends no retry, but one
    must remain. Only Running evacuates. In Resuming, which ends within AdmissionGracePeriod,
    components are still missing, and Running checks evacuations first.
    """
    if (found := snapshot.evacuation) is None:
        return None
    return Finding(
        reason=Reason.AUTOPILOT_NO_EXECUTE,
        message=found.message,
        spends_retry=found.spends_retry,
    )


# A problem with pods is reported, may heal within FailureGracePeriod, and then causes a reset.
# docs/users/phases.md shows the first paragraph of the checks' docstrings.

Check = Callable[[Snapshot, datetime, FaultTolerance], Finding | None]
Held = tuple[Finding, ResetHold]
Answer = tuple[Actions, list[timedelta]]  # and the waits until the next pass


def watch_over(
    snapshot: Snapshot, now: datetime, config: FaultTolerance, urgent: Finding | None = None
) -> Actions:
    """Report PodsReady and Unhealthy, and reset or fail if a problem does not heal.

    `urgent` is answered without grace period. A reset that must wait is reported. While it waits,
    or while an answer waits for evidence, all other checks continue.
    """
    finding = first_finding(in_force(snapshot, now), now, config)
    left = remaining(snapshot.timers.failure, config.failure_grace, now)
    held: list[Held] = []
    awaited: list[Wait] = []
    for due in (urgent, finding if left == ZERO else None):
        if due is None:
            continue
        due = leaving_component(snapshot) or due
        if (wait := wait_for_evidence(snapshot, due, now, config)) is not None:
            awaited.append(wait)
        elif (hold := hold_on(snapshot, due, config)) is not None:
            held.append((due, hold))
        else:
            confirm(snapshot, due, config)
            return reset_or_fail(snapshot, due, config)
    sound = finding is None and not held and not awaited
    trouble, waits = ((), []) if sound else _trouble(snapshot, now, config, finding, held)
    told_now = StartTimer(Timer.UNREADY) in trouble
    readiness = report_readiness(snapshot, now, config, bad_news=told_now)
    if sound:
        trouble, waits = _healed(snapshot, now, config, told_anyhow=bool(readiness))
    elif finding is not None and left > ZERO and not waits:
        waits = [left]
    waits += _looks_at_pods(snapshot, now, config, readiness, finding)
    waits += [hold.retry_in for _, hold in held if hold.retry_in is not None]
    waits += [each.left for each in awaited]
    begun = awaited[0].begin if awaited else ()
    return (*readiness, *trouble, *begun, *((WakeAfter(min(waits)),) if waits else ()))


def first_finding(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Finding | None:
    """Return the finding of the first check that has one."""
    findings = (check(snapshot, now, config) for check in CHECKS)
    return next((finding for finding in findings if finding is not None), None)


def failed_pods(snapshot: Snapshot, _now: datetime, config: FaultTolerance) -> Finding | None:
    """Pods failed and were not replaced."""
    pods = snapshot.pods
    if not pods.failed:
        return None
    words, terminal = words_of_failed(pods), pods.terminal_exit
    return failure(snapshot, config, Reason.FAILED_PODS, words, terminal_exit=terminal)


def too_few_exist(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Finding | None:
    """AdmissionGracePeriod is over, and pods were not created."""
    pods = snapshot.pods
    if pods.existing >= pods.wanted:
        return None
    if remaining(snapshot.timers.admission, config.admission_grace, now) > ZERO:
        return None
    message = f"{pods.existing} of {_wanted(pods)} exist"
    return _too_few(message, snapshot, config)


def too_few_run(snapshot: Snapshot, now: datetime, config: FaultTolerance) -> Finding | None:
    """WarmupGracePeriod is over, and pods do not run, or have not run for long enough."""
    pods = snapshot.pods
    if runs_as_wanted(snapshot):
        return None
    if remaining(snapshot.timers.warmup, config.warmup_grace, now) > ZERO:
        return None
    message = f"{pods.ready} of {_wanted(pods)} run or succeeded"
    if pods.pending_named:
        message += f"; not running: {pods.pending_named}"
    if loops := crash_loops(snapshot):
        message += f"; {loops}"
    return _too_few(message, snapshot, config)


def _too_few(words: str, snapshot: Snapshot, config: FaultTolerance) -> Finding:
    """Return the finding. The components' messages may quote users, so they are not logged."""
    said = with_trouble(words, snapshot)
    return failure(snapshot, config, Reason.INSUFFICIENT_PODS_READY, said, logged=words)


def _wanted(pods: PodCounts) -> str:
    """Return `2 pods`, or `the 2 pods wanted so far`."""
    return f"the {pods.wanted} pods wanted so far" if pods.deferred else f"{pods.wanted} pods"


CHECKS: Final[tuple[Check, ...]] = (failed_pods, too_few_exist, too_few_run)


def _trouble(
    snapshot: Snapshot,
    now: datetime,
    config: FaultTolerance,
    finding: Finding | None,
    held: Sequence[Held],
) -> Answer:
    """Report Unhealthy and begin FailureGracePeriod. A held reset precedes what may still heal."""
    reported = CONDITION_UNHEALTHY in snapshot.conditions
    if not reported and (too_soon := unhealthy_for(snapshot, now, config)) > ZERO:
        return (), [too_soon]
    begins = finding is not None and snapshot.timers.failure is None
    words: Actions = ()
    if held:
        # The breaker may stay open for hours; another reset waits for less.
        others = [each for each in held if each[1].reason is not HoldReason.BREAKER]
        words = tell_hold(snapshot, *(others or held)[0])
    elif finding is not None and (
        begins or was_held(snapshot) or not would_repeat_report(snapshot, finding)
    ):
        words = (reporting(unhealthy(finding)),)
    grace = (StartTimer(Timer.FAILURE),) if begins else ()
    told_now = (StartTimer(Timer.UNREADY),) if words and not reported else ()
    return (*words, *grace, *told_now), []


def _healed(
    snapshot: Snapshot, now: datetime, config: FaultTolerance, *, told_anyhow: bool
) -> Answer:
    """Set Unhealthy to False. `told_anyhow`: the status is written in any case."""
    if CONDITION_UNHEALTHY not in snapshot.conditions and snapshot.timers.failure is None:
        return (), []
    if not told_anyhow and (left := settling_for(snapshot, now, config)) > ZERO:
        return (), [left]
    return (
        SetCondition(CONDITION_UNHEALTHY, False, Reason.NO_FAILED_PODS),
        ClearTimer(Timer.FAILURE),
        *_clear_waits(snapshot),
        *record_healed(snapshot),
    ), []


def _clear_waits(snapshot: Snapshot) -> Actions:
    """Clear both waits of evidence.py, so that the next failure of this attempt gets them again.

    While the store's timer runs, the gatherer keeps the records that it read.
    """
    timers = snapshot.timers
    begun = ((Timer.RECORDS, timers.records), (Timer.STORE, timers.store))
    return tuple(ClearTimer(timer) for timer, began in begun if began is not None)


def _looks_at_pods(
    snapshot: Snapshot,
    now: datetime,
    config: FaultTolerance,
    readiness: Actions,
    finding: Finding | None,
) -> list[timedelta]:
    """Return the waits until pods that are not ready must be checked again without a change."""
    if is_ready(snapshot):
        return []
    due = None if readiness else message_due_in(snapshot, now)
    looks = [each for each in (snapshot.pods.stable_in, due) if each is not None]
    if CONDITION_PODS_READY in snapshot.conditions and not readiness:
        return [*looks, not_ready_for(snapshot, now, config)]
    if runs_as_wanted(snapshot):
        return looks
    if snapshot.timers.warmup is None and not readiness:  # when they may begin again
        return [*looks, not_ready_for(snapshot, now, config)]
    return looks if finding else [*looks, *next_deadlines(snapshot, now, config)]
