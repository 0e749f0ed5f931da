"""What the answer to a failure waits for, and that nothing else does."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from controller.phases import decide
from controller.phases.actions import (
    Actions,
    MoveTo,
    Reason,
    SetCondition,
    StartTimer,
    Timer,
    WakeAfter,
)
from controller.phases.findings import Finding
from controller.phases.phase import Phase
from controller.phases.reset_or_fail import HeldAnswer, wait_for_evidence
from controller.phases.snapshot import (
    Component,
    Evacuation,
    FaultTolerance,
    HoldReason,
    PodCounts,
    Presence,
    ResetHold,
    Snapshot,
    Timers,
)
from controller.phases.timers import evolve
from shared.api.conditions import Terminal

NOW = datetime(2026, 1, 1).astimezone()
SECOND = timedelta(seconds=1)
CONFIG = FaultTolerance(error_store="team")
JOB = Component(
    name="train",
    kind="Job",
    presence=Presence.PRESENT,
    expected_pods=2,
    reports=True,
    terminal=Terminal.FAILED,
    message="gave up",
)
GAVE_UP = Snapshot(
    phase=Phase.RUNNING,
    conditions=frozenset({"QuotaReserved", "ResourcesDeployed", "PodsReady"}),
    components=(JOB,),
    pods=PodCounts(expected=2, running=2),
    labelled_pods=2,
    timers=Timers(admission=NOW, warmup=NOW),
)
SETTLES = replace(GAVE_UP, awaits_records=True)
READS = replace(GAVE_UP, reads_store=True)
# Its pods failed, and had their time to heal.
PODS_FAILED = replace(
    GAVE_UP,
    components=(replace(JOB, terminal=None),),
    pods=PodCounts(expected=2, running=1, failed=1),
    timers=Timers(admission=NOW, warmup=NOW, failure=NOW - timedelta(hours=1)),
)


def found(reason: Reason) -> Finding:
    return Finding(reason=reason, message="")


def move_in(actions: Actions) -> MoveTo | None:
    return next((each for each in actions if isinstance(each, MoveTo)), None)


def looks_again(actions: Actions) -> timedelta | None:
    return next((each.delay for each in actions if isinstance(each, WakeAfter)), None)


def began(snapshot: Snapshot, **timers: timedelta) -> Snapshot:
    ago = {name: NOW - period for name, period in timers.items()}
    return replace(snapshot, timers=replace(snapshot.timers, **ago))


def test_a_component_that_gave_up_is_answered_at_once() -> None:
    move = move_in(decide(GAVE_UP, NOW, CONFIG))
    assert move is not None
    assert (move.phase, move.reason) == (Phase.RESETTING, Reason.FAILED_COMPONENT)


@pytest.mark.parametrize(
    ("snapshot", "timer", "period"),
    [
        pytest.param(SETTLES, Timer.RECORDS, CONFIG.record_settle, id="pods may leave records"),
        pytest.param(READS, Timer.STORE, CONFIG.store_timeout, id="the store is read"),
    ],
)
def test_a_wait_has_a_start_and_an_end(snapshot: Snapshot, timer: Timer, period: timedelta) -> None:
    first = decide(snapshot, NOW, CONFIG)
    assert move_in(first) is None
    assert StartTimer(timer) in first
    assert looks_again(first) == period
    going = replace(snapshot, timers=evolve(snapshot.timers, first, NOW))
    later = decide(going, NOW + period - SECOND, CONFIG)
    assert move_in(later) is None
    assert StartTimer(timer) not in later
    assert looks_again(later) == SECOND
    move = move_in(decide(going, NOW + period, CONFIG))
    assert move is not None
    assert (move.phase, move.reason) == (Phase.RESETTING, Reason.FAILED_COMPONENT)


def test_the_store_is_waited_for_once_records_are_not() -> None:
    both = began(replace(SETTLES, reads_store=True), records=CONFIG.record_settle)
    actions = decide(both, NOW, CONFIG)
    assert move_in(actions) is None
    assert StartTimer(Timer.STORE) in actions
    assert StartTimer(Timer.RECORDS) not in actions


@pytest.mark.parametrize(
    ("snapshot", "config"),
    [
        (SETTLES, replace(CONFIG, record_settle=timedelta(0))),
        (READS, replace(CONFIG, store_timeout=timedelta(0))),
        (SETTLES, replace(CONFIG, error_aggregation="off")),
        (READS, replace(CONFIG, error_aggregation="off")),
        (began(SETTLES, records=timedelta(hours=1)), CONFIG),
        (began(READS, store=timedelta(hours=1)), CONFIG),
    ],
)
def test_records_are_not_awaited_without_a_recorder(
    snapshot: Snapshot, config: FaultTolerance
) -> None:
    assert move_in(decide(snapshot, NOW, config)) is not None


def test_pods_that_failed_had_their_time_to_leave_records() -> None:
    assert move_in(decide(replace(PODS_FAILED, awaits_records=True), NOW, CONFIG)) is not None
    actions = decide(replace(PODS_FAILED, reads_store=True), NOW, CONFIG)
    assert move_in(actions) is None
    assert StartTimer(Timer.STORE) in actions


def test_meanwhile_pods_are_reported_as_ever() -> None:
    """And what gave up stays recorded, for whoever starts after us."""
    failing = replace(SETTLES, pods=PodCounts(expected=2, running=1, failed=1))
    actions = decide(failing, NOW, CONFIG)
    assert move_in(actions) is None
    still = replace(failing, components=(replace(JOB, terminal=None),))
    reports = [each for each in actions if isinstance(each, SetCondition)]
    assert reports == [
        each for each in decide(still, NOW, CONFIG) if isinstance(each, SetCondition)
    ]
    assert reports


def test_unhealthy_does_not_end_meanwhile() -> None:
    reported = replace(SETTLES, conditions=SETTLES.conditions | {"Unhealthy"})
    actions = decide(reported, NOW, CONFIG)
    assert not any(isinstance(each, SetCondition) for each in actions)


@pytest.mark.parametrize("waiting", [SETTLES, READS])
def test_suspension_deletion_and_the_deeds_of_others_do_not_wait(waiting: Snapshot) -> None:
    suspended = move_in(decide(replace(waiting, suspend=True), NOW, CONFIG))
    assert suspended is not None
    assert suspended.phase is Phase.SUSPENDING
    gone = replace(waiting, deletion_requested=True, finalizer=True)
    assert (moved := move_in(decide(gone, NOW, CONFIG))) is not None
    assert moved.phase is Phase.TERMINATING
    other = replace(JOB, name="b", terminal=None, presence=Presence.GONE)
    missing = move_in(decide(replace(waiting, components=(JOB, other)), NOW, CONFIG))
    assert missing is not None
    assert missing.reason is Reason.MISSING_COMPONENT
    runs = replace(waiting, components=(replace(JOB, terminal=None),))
    driven = move_in(decide(replace(runs, evacuation=Evacuation("node a")), NOW, CONFIG))
    assert driven is not None
    assert driven.reason is Reason.AUTOPILOT_NO_EXECUTE


@pytest.mark.parametrize("waiting", [SETTLES, READS])
def test_no_reset_is_asked_for_before(waiting: Snapshot) -> None:
    """What must wait for permission, too, says so once it is known what to do."""
    held = replace(waiting, reset_hold=ResetHold(HoldReason.PAUSED, "resets are paused"))
    assert decide(held, NOW, CONFIG) == decide(waiting, NOW, CONFIG)
    over = began(held, records=timedelta(hours=1), store=timedelta(hours=1))
    reasons = [each.reason for each in decide(over, NOW, CONFIG) if isinstance(each, SetCondition)]
    assert reasons == [Reason.RESETS_PAUSED]


def waits_for(reason: Reason, timer: Timer, left: timedelta) -> HeldAnswer:
    return HeldAnswer(finding=found(reason), left=left, begin=(StartTimer(timer),))


@pytest.mark.parametrize("reason", Reason)
def test_only_failures_of_pods_are_waited_with(reason: Reason) -> None:
    waits = (Reason.FAILED_COMPONENT, Reason.FAILED_PODS, Reason.INSUFFICIENT_PODS_READY)
    store = wait_for_evidence(READS, found(reason), NOW, CONFIG)
    begins = waits_for(reason, Timer.STORE, CONFIG.store_timeout)
    assert store == (begins if reason in waits else None)
    settles = wait_for_evidence(SETTLES, found(reason), NOW, CONFIG)
    begins = waits_for(reason, Timer.RECORDS, CONFIG.record_settle)
    assert settles == (begins if reason is Reason.FAILED_COMPONENT else None)


def test_the_next_failure_of_the_attempt_is_awaited_again() -> None:
    """What failed has healed: else its waits, long over, would be the next failure's."""
    past = NOW - timedelta(hours=1)
    timers = Timers(admission=NOW, warmup=NOW, failure=past, records=past, store=past)
    healed = replace(
        PODS_FAILED,
        conditions=PODS_FAILED.conditions | {"Unhealthy"},
        pods=PodCounts(expected=2, running=2),
        timers=timers,
    )
    after = evolve(timers, decide(healed, NOW, CONFIG), NOW)
    assert after == Timers(admission=NOW, warmup=NOW, unready=after.unready)
