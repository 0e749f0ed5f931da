"""What a process remembers of an attempt, and that forgetting it makes it more patient only."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from controller.observation import Observation
from controller.phases.fault_tolerance import FaultTolerance
from controller.phases.phase import Phase
from controller.phases.snapshot import PodCounts, Snapshot, Timers
from controller.sightings import Sightings
from shared.api.appwrapper import AppWrapper

T0 = datetime(2026, 1, 1, tzinfo=UTC)
T1 = T0 + timedelta(minutes=5)


def seen(
    sightings: Sightings, phase: Phase, running: int, began: datetime | None = T0, attempt: int = 1
) -> bool:
    """Looks at an AppWrapper of two pods; whether they are said to have been complete."""
    raw: dict[str, Any] = {"metadata": {"uid": "u1"}, "status": {"attempt": attempt}}
    snapshot = Snapshot(
        phase=phase, pods=PodCounts(expected=2, running=running), timers=Timers(admission=began)
    )
    found = sightings.look(Observation(AppWrapper(raw), snapshot, FaultTolerance()))
    assert found.snapshot == replace(snapshot, pods_were_complete=found.snapshot.pods_were_complete)
    return found.snapshot.pods_were_complete


def test_pods_were_complete_once_as_many_existed_as_expected() -> None:
    sightings = Sightings()
    assert not seen(sightings, Phase.RESUMING, 0)
    assert not seen(sightings, Phase.RUNNING, 1)
    assert seen(sightings, Phase.RUNNING, 2)
    assert seen(sightings, Phase.RUNNING, 1)


def test_a_period_that_begins_anew_forgets_it() -> None:
    sightings = Sightings()
    assert seen(sightings, Phase.RUNNING, 2)
    assert not seen(sightings, Phase.RUNNING, 1, began=T1)
    assert not seen(sightings, Phase.RUNNING, 1, began=T1)
    assert seen(sightings, Phase.RUNNING, 2, began=T1)


def test_another_attempt_forgets_it() -> None:
    sightings = Sightings()
    assert seen(sightings, Phase.RUNNING, 2)
    assert not seen(sightings, Phase.RESUMING, 0, began=T1, attempt=2)
    assert not seen(sightings, Phase.RUNNING, 1, began=T1, attempt=2)


def test_after_a_restart_what_is_missing_gets_its_whole_period_once() -> None:
    sightings = Sightings()
    assert seen(sightings, Phase.RUNNING, 1)
    assert not seen(sightings, Phase.RUNNING, 1, began=T1)


def test_after_a_restart_a_deployment_that_begins_is_not_complete() -> None:
    sightings = Sightings()
    assert not seen(sightings, Phase.RESUMING, 1)
    assert not seen(sightings, Phase.RUNNING, 1)


def test_other_phases_are_nothing_to_it() -> None:
    sightings = Sightings()
    assert seen(sightings, Phase.RUNNING, 2)
    assert not seen(sightings, Phase.RESETTING, 2)
    assert not seen(sightings, Phase.SUSPENDING, 0)


def test_an_object_in_the_place_of_the_one_first_seen_is_another() -> None:
    sightings = Sightings()
    assert not sightings.is_another("u1", 1, 0, "a")
    assert not sightings.is_another("u1", 1, 1, "b")
    assert not sightings.is_another("u1", 1, 0, "a")
    assert sightings.is_another("u1", 1, 0, "c")
    assert sightings.is_another("u1", 1, 0, "c")
    assert not sightings.is_another("u1", 2, 0, "c")


def test_nothing_is_remembered_of_an_appwrapper_that_is_gone() -> None:
    sightings = Sightings()
    sightings.is_another("u1", 1, 0, "a")
    seen(sightings, Phase.RESUMING, 0)
    sightings.forget("u1")
    assert not sightings.is_another("u1", 1, 0, "c")
    assert seen(sightings, Phase.RUNNING, 1)
