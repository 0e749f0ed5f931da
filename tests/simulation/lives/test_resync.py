"""The resync finds a change that no watch reported, and counts it as a repair."""

import logging

import pytest

from controller.controller import Controller
from controller.runtime.workqueue import WakeReason
from tests.simulation.choices import Recorded
from tests.simulation.cluster import Cluster
from tests.simulation.lives.lived import live
from tests.simulation.product_log import ProductLog
from tests.simulation.workloads import job
from tests.simulation.world import World

REPAIRS = "appwrapper_resync_repairs_total"


def make_deaf(controller: Controller) -> None:
    """Let it hear of each AppWrapper once, and of nothing that happens to it afterwards."""
    heard: set[tuple[str, str]] = set()
    queue = controller._queue
    add = queue.add

    def add_once(key: tuple[str, str], wake: WakeReason = WakeReason.CHANGE) -> None:
        if key not in heard:
            heard.add(key)
            add(key, wake)

    queue.add = add_once  # type: ignore[method-assign]


def repairs(world: World) -> float:
    (controller,) = world.controllers.values()
    counted = controller._metrics.registry.get_sample_value(REPAIRS)
    assert counted is not None
    return counted


def test_a_deaf_controller_brings_a_life_to_its_end_and_counts_its_repairs() -> None:
    life = live(
        job("j", start_after="2s", run_for="2s"),
        arrange=lambda world: world.made.append(make_deaf),
        breaks=frozenset({"repair"}),
    )
    assert life.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]
    # Its deletion after the end of the run. The ends of periods found the other changes.
    assert repairs(life.world) == 1


def test_one_that_hears_everything_repairs_nothing() -> None:
    assert repairs(live(job("j", run_for="2s")).world) == 0


@pytest.mark.parametrize("slept", [True, False])
def test_a_change_that_the_resync_finds_is_no_defect_of_a_process_that_just_woke(
    slept: bool,
) -> None:
    """Its watches are as late as its resync."""
    found: list[tuple[str, str]] = []
    log = ProductLog(
        Cluster(Recorded()),
        lambda *violation: found.append(violation),
        disturbed=lambda: True,
        slept=lambda _: slept,
    )
    repaired = "the resync found a change that no watch reported"
    log.emit(logging.LogRecord("", logging.WARNING, "", 0, repaired, (), None))
    assert found == ([] if slept else [("repair", repaired)])
