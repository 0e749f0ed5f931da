"""Whole lives in virtual time: decide, evolve, advance to the requeue, repeat."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeGuard

import pytest

from controller.fleet.reset_rate_limit import ResetRate
from controller.phases import decide
from controller.phases.actions import (
    DeleteComponents,
    DeletionMode,
    MoveTo,
    Reason,
    RecordPodSets,
    SetCondition,
    Warn,
)
from controller.phases.phase import Phase
from controller.phases.snapshot import (
    ConditionText,
    CreateProblem,
    Evacuation,
    FaultTolerance,
    HoldReason,
    PodCounts,
    PodSetInfos,
    Presence,
    ResetHold,
    Timers,
)
from shared.api.conditions import Terminal
from shared.api.times import format_time
from shared.config.fault_tolerance import ResetRateLimit
from tests.support.decisions import CONFIG, JOB
from tests.support.fakes.virtual_life import (
    ALL_RUN,
    NO_PODS,
    ONE_FAILED,
    START,
    Permit,
    VirtualLife,
)

HOLDING = {"QuotaReserved", "ResourcesDeployed"}
PLANNED = (replace(JOB, presence=Presence.PLANNED),)
DELETING = (replace(JOB, presence=Presence.DELETING),)


def test_retry_pause_is_counted_from_the_end_of_deletion() -> None:
    life = VirtualLife()
    life.fail_and_reset()
    life.now += timedelta(minutes=8)  # a slow deletion
    gone_at = life.now
    life.step(gone=True, components=())
    assert life.now - gone_at == CONFIG.retry_pause
    life.step(gone=False)
    assert life.is_in(Phase.RESUMING)


def test_during_a_reset_the_conditions_show_why_and_when_the_next_attempt_begins() -> None:
    life = VirtualLife()
    life.fail_and_reset()
    _, reason, why = life.reported("Unhealthy")
    begins = format_time(life.now + CONFIG.retry_pause)
    life.look(gone=True, components=())
    progress = f"1 of 3 retries spent; the next attempt begins at {begins}"
    assert life.reported("PodsReady")[2] == progress
    assert life.reported("Unhealthy") == (True, reason, f"{why}; {progress}")
    again = replace(life.snapshot, timers=Timers())  # another operator was here
    texts = [each.message for each in decide(again, life.now, CONFIG) if is_unhealthy(each)]
    assert texts == [f"{why}; {progress}"], "it is said once"
    foreign = {"Unhealthy": ConditionText("SomethingElse", "x")}
    actions = decide(replace(again, condition_texts=foreign), life.now, CONFIG)
    assert not any(is_unhealthy(each) for each in actions)


def is_unhealthy(action: object) -> TypeGuard[SetCondition]:
    return isinstance(action, SetCondition) and action.type == "Unhealthy"


def test_a_replaced_pod_ends_the_failure_grace_period() -> None:
    life = VirtualLife()
    life.step(pods=ONE_FAILED)
    life.step(pods=ALL_RUN)
    assert life.snapshot.timers.failure is None
    life.now += timedelta(minutes=2)
    assert life.fail_and_reset() == CONFIG.failure_grace


def test_a_failure_after_a_reset_gets_a_fresh_grace_period() -> None:
    life = VirtualLife()
    for retries in (1, 2):
        assert life.fail_and_reset() == CONFIG.failure_grace
        assert life.snapshot.retries == retries
        life.come_back()
        assert "Unhealthy" not in life.conditions


def test_one_that_keeps_failing_spends_its_retries_and_stops() -> None:
    life = VirtualLife()
    for _ in range(CONFIG.retry_limit):
        life.fail_and_reset()
        life.come_back()
    life.step(pods=ONE_FAILED)
    life.step()
    assert life.is_in(Phase.FAILED)
    assert "QuotaReserved" in life.conditions
    life.step(gone=True, components=(), pods=PodCounts(expected=4))
    assert not life.conditions & {"QuotaReserved", "ResourcesDeployed"}


def test_a_preemption_costs_no_retry() -> None:
    life = VirtualLife()
    life.step(suspend=True)
    assert life.is_in(Phase.SUSPENDING)
    life.step(gone=True, components=(), pods=PodCounts(expected=4))
    assert life.is_in(Phase.SUSPENDED)
    assert life.conditions == frozenset()
    life.step(suspend=False, gone=False)
    assert life.is_in(Phase.RESUMING)
    assert life.snapshot.retries == 0


def test_deleting_a_suspending_appwrapper_does_not_prolong_its_deletion() -> None:
    life = VirtualLife()
    life.step(suspend=True)
    began = life.snapshot.timers.forceful_deletion
    life.now += timedelta(minutes=5)
    life.step(deletion_requested=True)
    assert life.is_in(Phase.TERMINATING)
    assert life.snapshot.timers == Timers(forceful_deletion=began)


def test_suspending_a_resetting_appwrapper_does_not_prolong_its_deletion() -> None:
    life = VirtualLife()
    life.fail_and_reset()
    life.look(components=DELETING)
    began = life.snapshot.timers.forceful_deletion
    life.wait(300)
    life.look(suspend=True)
    assert life.is_in(Phase.SUSPENDING)
    assert life.snapshot.timers == Timers(forceful_deletion=began)


def test_a_healthy_life_that_waits_costs_four_status_writes() -> None:
    life = VirtualLife(phase=Phase.EMPTY, conditions=frozenset(), suspend=True, pods=NO_PODS)
    assert RecordPodSets() in life.look()
    life.look()
    life.wait(3600)
    life.look(suspend=False, pod_set_infos=PodSetInfos.COMPLETE, components=PLANNED)
    life.look(components=(JOB,))
    for running in range(5):
        life.look(pods=PodCounts(expected=4, pending=4 - running, running=running))
    life.wait(3600)
    for succeeded in range(1, 5):
        life.look(pods=PodCounts(expected=4, running=4 - succeeded, succeeded=succeeded))
    life.look(components=(replace(JOB, terminal=Terminal.SUCCEEDED),), pods=PodCounts(succeeded=4))
    assert [phase for _, phase in life.moves] == [
        Phase.SUSPENDED,
        Phase.RESUMING,
        Phase.RUNNING,
        Phase.SUCCEEDED,
    ]
    assert life.conditions == {"ResourcesDeployed", "PodsReady"}
    assert life.writes == 4
    assert not life.warnings


def in_resetting() -> dict[str, Any]:
    timers = Timers(forceful_deletion=START)
    return {"conditions": frozenset({*HOLDING, "DeletingResources", "Unhealthy"}), "timers": timers}


@pytest.mark.parametrize(
    ("phase", "changes"),
    [
        pytest.param(Phase.RESUMING, {"components": PLANNED}, id="while it creates"),
        pytest.param(
            Phase.RESUMING,
            {"components": PLANNED, "create_problem": CreateProblem(fatal=True, message="no")},
            id="though it cannot create",
        ),
        pytest.param(Phase.RUNNING, {}, id="while it runs"),
        pytest.param(Phase.RUNNING, {"pods": ONE_FAILED, "retries": 3}, id="though it would fail"),
        pytest.param(
            Phase.RUNNING,
            {"components": (replace(JOB, presence=Presence.GONE),)},
            id="though a component is missing",
        ),
        pytest.param(
            Phase.RUNNING,
            {
                "evacuation": Evacuation("node a"),
                "evacuation_hold": ResetHold(HoldReason.PAUSED, "p"),
            },
            id="while its reset waits",
        ),
        pytest.param(Phase.RESETTING, in_resetting(), id="while a reset deletes"),
        pytest.param(
            Phase.RESETTING,
            {"conditions": frozenset({"QuotaReserved"}), "timers": Timers(retry_pause=START)},
            id="in the pause after a reset",
        ),
    ],
)
def test_a_suspension_is_respected_wherever_it_comes(phase: Phase, changes: Any) -> None:
    life = VirtualLife(phase=phase, **changes)
    life.look(suspend=True)
    assert life.is_in(Phase.SUSPENDING)
    assert "QuotaReserved" in life.conditions
    life.wait(60)
    assert life.is_in(Phase.SUSPENDING), "something is left"
    life.look(gone=True, components=(), pods=NO_PODS)
    assert life.is_in(Phase.SUSPENDED)
    assert life.conditions == frozenset()


@pytest.mark.parametrize("phase", [Phase.SUCCEEDED, Phase.FAILED])
def test_an_ended_appwrapper_is_not_suspended(phase: Phase) -> None:
    life = VirtualLife(phase=phase, conditions=frozenset({"ResourcesDeployed"}))
    life.look(suspend=True)
    assert life.phase is phase


def test_a_suspension_ends_the_time_to_debug() -> None:
    life = VirtualLife(FaultTolerance(deletion_on_failure_grace=timedelta(hours=1), retry_limit=0))
    life.look(pods=ONE_FAILED)
    life.wait(60)
    assert life.is_in(Phase.FAILED)
    life.wait(1800)
    assert "DeletingResources" not in life.conditions
    life.look(suspend=True)
    assert life.conditions >= {*HOLDING, "DeletingResources"}
    life.look(gone=True)
    assert life.is_in(Phase.FAILED)
    assert life.conditions == {"Unhealthy"}


def test_an_evacuation_runs_again_without_a_retry_and_with_its_quota() -> None:
    life = VirtualLife(retries=2)
    life.look(evacuation=Evacuation("pod a on node n"))
    assert life.moves == [(timedelta(0), Phase.RESETTING)]
    assert life.conditions == {*HOLDING, "Unhealthy", "DeletingResources"}
    life.look(gone=True, components=(), pods=NO_PODS, evacuation=None)
    assert life.conditions == {"QuotaReserved", "Unhealthy"}
    life.snapshot = replace(life.snapshot, gone=False, components=PLANNED)
    life.wait(89)
    assert life.is_in(Phase.RESETTING)
    life.now += timedelta(seconds=1)
    life.look()
    assert life.is_in(Phase.RESUMING)
    assert life.conditions == HOLDING
    life.look(components=(JOB,), pods=ALL_RUN)
    assert (life.phase, life.snapshot.retries) == (Phase.RUNNING, 2)


def test_a_mass_reset_is_throttled_and_every_appwrapper_is_reset() -> None:
    """Twelve fail together; five may be reset at once, and then one a second."""
    rate = ResetRate(ResetRateLimit(per_second=1, burst=5))
    lives = [VirtualLife() for _ in range(12)]
    for number, life in enumerate(lives):
        life.permit = throttle(rate, life, f"u{number}")
        life.look(pods=ONE_FAILED)
    for second in range(70):
        for life in lives:
            life.wait(1)
        assert all(life.age == timedelta(seconds=second + 1) for life in lives)
    ages = sorted(age.total_seconds() for life in lives for age, _ in life.moves)
    assert ages == [60.0] * 5 + [61.0, 62.0, 63.0, 64.0, 65.0, 66.0, 67.0]
    assert sorted(life.writes for life in lives) == [2] * 5 + [3] * 7
    held = [life.warnings for life in lives if life.warnings]
    assert held == [[Warn(Reason.RESET_THROTTLED, "1 failed pod; one a second")]] * 7
    assert all(
        life.reported("Unhealthy") == (True, Reason.FAILED_PODS, "1 failed pod") for life in lives
    )


def throttle(rate: ResetRate, life: VirtualLife, uid: str) -> Permit:
    def ask(_move: MoveTo) -> ResetHold | None:
        wait = rate.ask(uid, life.now)
        return None if wait is None else ResetHold(HoldReason.RATE, "one a second", wait)

    return ask


def test_paused_resets_begin_when_the_pause_is_lifted() -> None:
    life = VirtualLife()
    life.permit = lambda _move: ResetHold(HoldReason.PAUSED, "an admin set pauseResets")
    life.look(pods=ONE_FAILED)
    life.wait(86400)
    assert life.is_in(Phase.RUNNING)
    assert life.reported("Unhealthy")[1] == Reason.RESETS_PAUSED
    assert (life.writes, len(life.warnings)) == (2, 1)
    life.permit = lambda _move: None
    life.look()
    assert life.moves == [(timedelta(days=1), Phase.RESETTING)]


def test_a_blocked_deletion_keeps_the_quota_until_it_ends() -> None:
    held = "Pod train-0 has finalizer example.com/hold"
    life = VirtualLife(labelled_pods=2)
    life.look(suspend=True)
    life.look(components=DELETING)
    life.wait(599)
    assert life.deletes == [DeleteComponents(keep=True)]
    life.look(blockers=(held,))
    life.wait(3600)
    assert life.deletes[1:] == [DeleteComponents(DeletionMode.FORCE_PODS, keep=True)] * 121
    assert life.warnings == [Warn(Reason.DELETION_BLOCKED, held)]
    assert life.reported("DeletingResources") == (True, Reason.DELETION_BLOCKED, held)
    assert life.conditions >= HOLDING
    assert life.writes == 2
    life.look(blockers=(), labelled_pods=0, gone=True, components=())
    assert life.is_in(Phase.SUSPENDED)
    assert life.conditions == frozenset()


def test_a_create_that_fails_is_tried_until_the_admission_period_ends_and_then_reset() -> None:
    problem = CreateProblem(fatal=False, message="503", retry_at=START + timedelta(hours=1))
    life = VirtualLife(
        phase=Phase.RESUMING, components=PLANNED, pods=NO_PODS, create_problem=problem
    )
    life.look()
    assert life.reported("ResourcesDeployed") == (True, Reason.CREATE_FAILED, "503")
    life.wait(59.999)
    assert life.is_in(Phase.RESUMING)
    assert life.writes == 1
    life.wait(0.001)
    assert life.moves == [(timedelta(seconds=60), Phase.RESETTING)]
    assert life.snapshot.retries == 1


@pytest.mark.parametrize("phase", [Phase.RESUMING, Phase.RUNNING])
def test_the_end_of_the_namespace_is_reported_once(phase: Phase) -> None:
    gone = (replace(JOB, presence=Presence.GONE),)
    life = VirtualLife(phase=phase, components=gone, namespace_ending=True)
    for _ in range(3):
        life.look()
    why = "its namespace is being deleted, and everything in it"
    assert life.reported("ResourcesDeployed") == (True, Reason.NAMESPACE_ENDING, why)
    assert (life.phase, life.writes, life.deletes) == (phase, 1, [])


@pytest.mark.parametrize("stays", [True, False])
def test_everything_is_false_when_another_finalizer_keeps_it(stays: bool) -> None:
    life = VirtualLife(pods=ONE_FAILED, other_finalizers=stays)
    life.look()
    life.look(deletion_requested=True)
    assert life.conditions >= {*HOLDING, "Unhealthy", "DeletingResources"}
    deleting = life.conditions
    life.look(gone=True)
    assert life.conditions == (frozenset() if stays else deleting)
    assert not life.snapshot.finalizer
