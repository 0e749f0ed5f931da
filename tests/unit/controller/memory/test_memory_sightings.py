"""What a process remembers of an attempt, and that forgetting it makes it more patient only."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from controller.facts.observe import Observation
from controller.memory.memory import MOST_SUCCESSES, Memory, Sightings
from controller.phases.phase import Phase
from controller.phases.snapshot import FaultTolerance, PodCounts, Snapshot, Timers
from shared.api.appwrapper import AppWrapper
from tests.support.builders.remembered_pods import pod

T0 = datetime(2026, 1, 1, tzinfo=UTC)
T1 = T0 + timedelta(minutes=5)


def fell(
    sightings: Sightings, phase: Phase, running: int, began: datetime | None = T0, attempt: int = 1
) -> bool:
    """Looks at an AppWrapper of two pods; whether they are said to have become fewer."""
    return look(sightings, phase, running, Timers(admission=began), attempt)


def look(
    sightings: Sightings, phase: Phase, running: int, timers: Timers, attempt: int = 1
) -> bool:
    raw: dict[str, Any] = {"metadata": {"uid": "u1"}, "status": {"attempt": attempt}}
    snapshot = Snapshot(phase=phase, pods=PodCounts(expected=2, running=running), timers=timers)
    found = sightings.with_history(Observation(AppWrapper(raw), snapshot, FaultTolerance()))
    assert found.snapshot == replace(snapshot, pods_fell=found.snapshot.pods_fell)
    return found.snapshot.pods_fell


def test_pods_fall_once_as_many_existed_as_expected() -> None:
    sightings = Memory().sightings
    assert not fell(sightings, Phase.RESUMING, 0)
    assert not fell(sightings, Phase.RUNNING, 1)
    assert not fell(sightings, Phase.RUNNING, 2)
    assert fell(sightings, Phase.RUNNING, 1)
    assert fell(sightings, Phase.RUNNING, 2), "until the period begins anew"


def test_a_period_that_restarts_forgets_it() -> None:
    sightings = Memory().sightings
    assert not fell(sightings, Phase.RUNNING, 2)
    assert fell(sightings, Phase.RUNNING, 1)
    assert not fell(sightings, Phase.RUNNING, 1, began=T1)
    assert not fell(sightings, Phase.RUNNING, 2, began=T1)
    assert fell(sightings, Phase.RUNNING, 1, began=T1)


def test_another_attempt_forgets_it() -> None:
    sightings = Memory().sightings
    assert not fell(sightings, Phase.RUNNING, 2)
    assert not fell(sightings, Phase.RESUMING, 0, began=T1, attempt=2)
    assert not fell(sightings, Phase.RUNNING, 1, began=T1, attempt=2)


def test_after_a_restart_what_is_missing_gets_its_whole_period_once() -> None:
    sightings = Memory().sightings
    assert fell(sightings, Phase.RUNNING, 1)
    assert not fell(sightings, Phase.RUNNING, 1, began=T1)


def test_a_restart_does_not_prolong_trouble_that_is_on_record() -> None:
    sightings = Memory().sightings
    troubled = Timers(admission=T0, failure=T1)
    assert not look(sightings, Phase.RUNNING, 1, troubled)
    assert not look(sightings, Phase.RUNNING, 2, troubled)
    assert look(sightings, Phase.RUNNING, 1, troubled), "this one it saw itself"


def test_after_a_restart_a_deployment_that_begins_is_not_complete() -> None:
    sightings = Memory().sightings
    assert not fell(sightings, Phase.RESUMING, 1)
    assert not fell(sightings, Phase.RUNNING, 1)


def test_other_phases_are_nothing_to_it() -> None:
    sightings = Memory().sightings
    assert not fell(sightings, Phase.RUNNING, 2)
    assert not fell(sightings, Phase.RESETTING, 1)
    assert not fell(sightings, Phase.SUSPENDING, 0)


def test_nothing_is_remembered_of_an_appwrapper_that_is_gone() -> None:
    memory = Memory()
    sightings = memory.sightings
    memory.creations.is_replaced("u1", 1, 0, "a")
    assert not fell(sightings, Phase.RESUMING, 0)
    memory.forget("u1", ("team1", "train"))
    assert not memory.creations.is_replaced("u1", 1, 0, "c")
    assert fell(sightings, Phase.RUNNING, 1)


def staged(
    sightings: Sightings,
    wanted: int,
    running: int,
    existing: int,
    began: datetime = T0,
    attempt: int = 1,
) -> bool:
    """Looks at an AppWrapper whose component wants so many of four pods; whether pods fell."""
    pods = PodCounts(
        expected=4, deferred=4 - wanted, staged=True, running=running, pending=existing - running
    )
    raw: dict[str, Any] = {"metadata": {"uid": "u1"}, "status": {"attempt": attempt}}
    snapshot = Snapshot(phase=Phase.RUNNING, pods=pods, timers=Timers(admission=began))
    return sightings.with_history(
        Observation(AppWrapper(raw), snapshot, FaultTolerance())
    ).snapshot.pods_fell


def test_when_more_pods_are_wanted_the_periods_restart_though_the_pods_exist() -> None:
    sightings = Memory().sightings
    assert not staged(sightings, 1, 1, 1)
    assert staged(sightings, 2, 1, 2)
    assert not staged(Memory().sightings, 2, 2, 2)


def test_a_stage_that_begins_with_a_new_period_is_noticed() -> None:
    sightings = Memory().sightings
    assert not staged(sightings, 1, 1, 1)
    assert staged(sightings, 2, 1, 2, began=T1)
    assert not staged(sightings, 2, 1, 2, began=T1 + timedelta(minutes=5))


def test_another_attempt_that_wants_more_pods_begins_no_next_stage() -> None:
    sightings = Memory().sightings
    assert not staged(sightings, 1, 1, 1)
    assert not staged(sightings, 2, 1, 2, began=T1, attempt=2)


def test_after_a_restart_a_stage_gets_its_whole_period() -> None:
    assert staged(Memory().sightings, 2, 1, 2), "it may have begun while nobody looked"


def test_the_first_sight_is_remembered_and_begins_again_if_the_clock_is_set_back() -> None:
    sightings = Memory().sightings
    assert [sightings.first_seen("u1", each) for each in (T1, T1 + timedelta(1), T0, T1)] == [
        *(T1, T1),
        *(T0, T0),
    ]


def test_successes_of_a_run_are_forgotten_with_it_and_are_so_many() -> None:
    sightings = Memory().sightings
    for index in range(MOST_SUCCESSES + 1):
        sightings.see_success(pod(f"a{index}", "Succeeded"))
    assert len(sightings.successes("u1", Phase.RUNNING)) == MOST_SUCCESSES
    assert len(sightings.successes("u1", Phase.RESUMING)) == MOST_SUCCESSES
    assert sightings.successes("u1", Phase.RESETTING) == ()
    assert sightings.successes("u1", Phase.RUNNING) == ()
