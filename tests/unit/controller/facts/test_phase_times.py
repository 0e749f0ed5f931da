"""When a phase was entered, by the status that real decisions wrote."""

from datetime import timedelta
from typing import Any

import pytest

from controller.facts.phase_times import phase_began
from controller.phases.phase import Phase
from shared.api.appwrapper import AppWrapper
from shared.api.times import format_time
from tests.support.fakes.virtual_life import NO_PODS, ONE_FAILED, START, VirtualLife


def age_in_phase(life: VirtualLife) -> timedelta | None:
    """Since when it is in its phase, seen at the time of the virtual life."""
    began = phase_began(life.appwrapper)
    return None if began is None else life.now - began


def failed(life: VirtualLife) -> VirtualLife:
    """It is Resetting, and its pods are being deleted."""
    life.fail_and_reset()
    return life


def test_a_reset_counts_from_its_deletion_while_that_lasts() -> None:
    life = failed(VirtualLife())
    (moved, phase), since = life.moves[-1], phase_began(life.appwrapper)
    assert (phase, since) == (Phase.RESETTING, START + moved)


def test_the_pause_of_a_reset_counts_from_the_failure() -> None:
    life = VirtualLife()
    life.step(pods=ONE_FAILED)
    failed_at = START
    life.step()
    life.look(gone=True, components=(), pods=NO_PODS)
    assert life.is_in(Phase.RESETTING)
    assert phase_began(life.appwrapper) == failed_at


def test_the_next_attempt_counts_from_its_own_beginning() -> None:
    life = failed(VirtualLife())
    life.come_back()
    times = {phase: START + at for at, phase in life.moves}
    assert life.is_in(Phase.RUNNING)
    assert phase_began(life.appwrapper) == times[Phase.RESUMING] > START


def test_a_suspension_counts_until_the_quota_is_released_and_the_wait_from_then_on() -> None:
    life = VirtualLife()
    life.wait(100)
    life.look(suspend=True)
    assert life.is_in(Phase.SUSPENDING)
    assert age_in_phase(life) == timedelta(0)
    life.now += timedelta(seconds=30)
    assert age_in_phase(life) == timedelta(seconds=30)
    life.look(gone=True, components=(), pods=NO_PODS)
    assert life.is_in(Phase.SUSPENDED)
    assert age_in_phase(life) == timedelta(0)


@pytest.mark.parametrize(
    ("phase", "metadata", "conditions", "began"),
    [
        pytest.param("", {"creationTimestamp": 5}, [], 5, id="before its first pass"),
        pytest.param("Terminating", {"deletionTimestamp": 6}, [], 6, id="deleted"),
        pytest.param("Terminating", {}, [], None, id="of another operator"),
        pytest.param("Succeeded", {}, [("QuotaReserved", "False", 7)], 7, id="succeeded"),
        pytest.param("Failed", {}, [("Unhealthy", "True", 8)], 8, id="failed"),
        pytest.param("Running", {}, [("ResourcesDeployed", "False", 8)], None, id="not deployed"),
        pytest.param(
            "Resetting",
            {},
            [("DeletingResources", "True", 9), ("Unhealthy", "True", 2)],
            9,
            id="being deleted",
        ),
        pytest.param(
            "Resetting",
            {},
            [("DeletingResources", "False", 9), ("Unhealthy", "True", 2)],
            2,
            id="in its pause",
        ),
        pytest.param("Paused", {"creationTimestamp": 5}, [], None, id="an unknown phase"),
    ],
)
def test_stored_times(
    phase: str, metadata: dict[str, int], conditions: list[Any], began: int | None
) -> None:
    def at(second: int) -> str:
        return format_time(START + timedelta(seconds=second))

    stored = [
        {"type": kind, "status": status, "lastTransitionTime": at(second)}
        for kind, status, second in conditions
    ]
    appwrapper = AppWrapper(
        {
            "metadata": {key: at(second) for key, second in metadata.items()},
            "status": {"phase": phase, "conditions": stored},
        }
    )
    expected = None if began is None else START + timedelta(seconds=began)
    assert phase_began(appwrapper) == expected
