"""Report the health of a Running AppWrapper in PodsReady, Unhealthy and ResourcesDeployed."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from controller.phases.actions import (
    Actions,
    ClearTimer,
    Reason,
    RecordRootCause,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
    reporting,
)
from controller.phases.ask import Need
from controller.phases.findings import Finding, silence_ends_in, unhealthy
from controller.phases.readiness import (
    is_ready,
    message_due_in,
    none_is_missing,
    not_ready_for,
    report_readiness,
    settling_for,
    unhealthy_for,
)
from controller.phases.reset_or_fail import HeldAnswer, answer, tell_hold, was_held
from controller.phases.root_cause import Decision
from controller.phases.snapshot import FaultTolerance, HoldReason, Presence, Snapshot
from controller.phases.timers import ZERO, next_deadlines, remaining
from controller.reports.resources_deployed import ComponentsUnreadable
from shared.api.conditions import Terminal
from shared.api.names import CONDITION_PODS_READY, CONDITION_RESOURCES_DEPLOYED, CONDITION_UNHEALTHY

# A namespace that is being deleted, and everything in it.

# The AppWrapper reports it, and waits: objects that go with their namespace are no failure.
NAMESPACE_ENDING: Final[Actions] = (
    SetCondition(
        CONDITION_RESOURCES_DEPLOYED,
        True,
        Reason.NAMESPACE_ENDING,
        "its namespace is being deleted, and everything in it",
    ),
)


def namespace_ends(snapshot: Snapshot, _now: datetime, _config: FaultTolerance) -> Actions | None:
    """Its namespace is being deleted: nothing, whatever else is deleted."""
    snapshot.require(Need.OBSERVED)
    in_trouble = any(
        each.presence is Presence.GONE or each.terminal is Terminal.FAILED
        for each in snapshot.components
    )
    if snapshot.create_problem or in_trouble:  # the namespace's end would explain it
        snapshot.require(Need.NAMESPACE)
    return NAMESPACE_ENDING if snapshot.namespace_ending else None


# A component that cannot be read.


def tell_unreadable(snapshot: Snapshot) -> Actions:
    """Report components that cannot be read. This is no failure: their pods keep running."""
    unreadable = [each for each in snapshot.components if each.unreadable]
    if not unreadable:
        current = snapshot.text_of(CONDITION_RESOURCES_DEPLOYED)
        over = current.reason == Reason.COMPONENT_UNREADABLE
        return (SetCondition(CONDITION_RESOURCES_DEPLOYED, True, Reason.DEPLOYED),) if over else ()
    names = tuple(f"{each.kind} {each.name}" for each in unreadable)
    report = ComponentsUnreadable(components=names, why=unreadable[0].unreadable)
    return (reporting(report),) if snapshot.is_news(report) else ()


Report = tuple[Actions, list[timedelta]]  # and the waits until the next pass


def watch_over(
    snapshot: Snapshot,
    now: datetime,
    config: FaultTolerance,
    finding: Finding | None,
    urgent: Finding | None = None,
) -> Actions:
    """Report PodsReady and Unhealthy, and reset or fail if a problem does not heal.

    `finding`: the present problem of the pods. `urgent` is answered without grace period. A reset
    that must wait is reported. While it waits, or while an answer waits for evidence, all other
    checks continue.
    """
    left = remaining(snapshot.timers.failure, config.failure_grace, now)
    held: list[HeldAnswer] = []
    for due in (urgent, finding if left == ZERO else None):
        if due is None:
            continue
        given = answer(snapshot, due, now, config)
        if not isinstance(given, HeldAnswer):
            return given
        held.append(given)
    is_sound = finding is None and not held
    trouble, waits = ((), []) if is_sound else _trouble(snapshot, now, config, finding, held)
    reported_now = StartTimer(Timer.UNREADY) in trouble
    readiness = report_readiness(snapshot, now, config, bad_news=reported_now)
    if is_sound:
        trouble, waits = _healed(snapshot, now, config, written_anyhow=bool(readiness))
    elif finding is not None and left > ZERO and not waits:
        waits = [left]
    waits += _looks_at_pods(snapshot, now, config, readiness, finding)
    waits += [each.left for each in held if each.left is not None]
    if silence := silence_ends_in(snapshot, now, config):
        waits.append(silence)
    begun = next((each.begin for each in held if each.hold is None), ())
    return (*readiness, *trouble, *begun, *((WakeAfter(min(waits)),) if waits else ()))


def _trouble(
    snapshot: Snapshot,
    now: datetime,
    config: FaultTolerance,
    finding: Finding | None,
    held: Sequence[HeldAnswer],
) -> Report:
    """Report Unhealthy and begin FailureGracePeriod. A held reset precedes what may still heal."""
    reported = CONDITION_UNHEALTHY in snapshot.conditions
    if not reported and (too_soon := unhealthy_for(snapshot, now, config)) > ZERO:
        return (), [too_soon]
    begins = finding is not None and snapshot.timers.failure is None
    words: Actions = ()
    holds = [(each.finding, each.hold) for each in held if each.hold is not None]
    if holds:
        # The breaker may stay open for hours; another reset waits for less.
        others = [each for each in holds if each[1].reason is not HoldReason.BREAKER]
        words = tell_hold(snapshot, *(others or holds)[0])
    elif finding is not None and (
        begins or was_held(snapshot) or not would_repeat_report(snapshot, finding)
    ):
        words = (reporting(unhealthy(finding)),)
    grace = (StartTimer(Timer.FAILURE),) if begins else ()
    unready = (StartTimer(Timer.UNREADY),) if words and not reported else ()
    return (*words, *grace, *unready), []


def _healed(
    snapshot: Snapshot, now: datetime, config: FaultTolerance, *, written_anyhow: bool
) -> Report:
    """Set Unhealthy to False. `written_anyhow`: the status is written in any case."""
    if CONDITION_UNHEALTHY not in snapshot.conditions and snapshot.timers.failure is None:
        return (), []
    if not written_anyhow and (left := settling_for(snapshot, now, config)) > ZERO:
        return (), [left]
    return (
        SetCondition(CONDITION_UNHEALTHY, False, Reason.NO_FAILED_PODS),
        ClearTimer(Timer.FAILURE),
        *_clear_waits(snapshot),
        *record_healed(snapshot),
    ), []


def _clear_waits(snapshot: Snapshot) -> Actions:
    """Clear both waits for evidence, so that the next failure of this attempt gets them again.

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
    if none_is_missing(snapshot):
        return looks
    if snapshot.timers.warmup is None and not readiness:  # when they may begin again
        return [*looks, not_ready_for(snapshot, now, config)]
    return looks if finding else [*looks, *next_deadlines(snapshot, now, config)]


def record_healed(snapshot: Snapshot) -> Actions:
    """Add a failure that healed to the history, if Unhealthy reported it."""
    if snapshot.healed is None or CONDITION_UNHEALTHY not in snapshot.conditions:
        return ()
    return (RecordRootCause(snapshot.healed, Decision.NONE),)


def would_repeat_report(snapshot: Snapshot, finding: Finding) -> bool:
    """False if Unhealthy reports another failure, and the root cause is not newer than that report.

    So pods that fail and heal repeatedly do not cost a status write each.
    """
    current, root = snapshot.text_of(CONDITION_UNHEALTHY), finding.root_cause
    if root is None or root.time is None or snapshot.timers.failure is None:
        return True
    if current.reason != finding.reason or root.time > snapshot.timers.failure:
        return True
    return not snapshot.is_news(unhealthy(finding))
