"""A pod that no node can hold, and one that a node could hold until an hour ago."""

from datetime import timedelta

import pytest

from controller.facts import unschedulable
from controller.fleet import node_index
from shared.api.objects import JsonObject
from tests.simulation.actors.kueue.settings import Settings
from tests.simulation.lives.lived import Life, live
from tests.simulation.workloads import pod
from tests.simulation.world import World
from tests.support.builders.appwrappers import true_conditions
from tests.support.builders.autopilot import GPU
from tests.support.life_record import DEPLOYED, QUOTA, condition, retries

DAY = 90 * 60.0  # seconds: a run of the simulation lasts no day
GONE_AT = 30 * 60.0
PERIODS = {
    "failUnschedulableDuration": "2m",
    "admissionGracePeriodDuration": "3h",
    "warmupGracePeriodDuration": "3h",
    "deletionOnFailureGracePeriodDuration": "0s",
}
PATIENT = Settings(pods_ready=None)
WHY = (
    "no node can hold pod large, which requests 16 nvidia.com/gpu: the largest node, n0, has 8"
    " nvidia.com/gpu"
)


@pytest.fixture(autouse=True)
def short_day(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (unschedulable, node_index):
        monkeypatch.setattr(module, "MEMORY", timedelta(seconds=DAY))


def large() -> JsonObject:
    body = pod("large", run_for="5s")
    amounts = {GPU: "16"}
    body["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    return body


def with_large_node(world: World) -> None:
    """Add a cordoned node of 16 GPUs that is gone after half an hour."""
    nodes, loop = world.programs.nodes, world.cluster.loop
    nodes.add("big", {"cpu": "80", "memory": "1100Gi", GPU: "16", "pods": "250"})
    nodes.cordon("big")
    loop.outside(GONE_AT, nodes.remove, "big")


def fails_at(life: Life) -> float:
    failed = life.in_phase("Failed")
    assert condition(failed, "Unhealthy") == ("True", "Unschedulable", WHY)
    assert {QUOTA, DEPLOYED} <= true_conditions(failed)
    assert retries(failed) == 0
    return life.at(failed)


def test_it_fails_two_minutes_after_the_nodes_have_been_known_for_a_day() -> None:
    life = live(large(), capacity=16, kueue=PATIENT, periods=PERIODS)
    assert life.phases()[-2:] == ["Running", "Failed"]
    assert DAY + 120 <= fails_at(life) < DAY + 121
    last = life.events[-1].object
    assert condition(last, "Unhealthy") == ("True", "Unschedulable", WHY)
    assert QUOTA not in true_conditions(last), "the quota is free"


def test_a_large_node_that_vanished_an_hour_ago_keeps_it_waiting() -> None:
    """It could return: a day after it went, and the period later, it fails."""
    life = live(large(), capacity=16, kueue=PATIENT, periods=PERIODS, arrange=with_large_node)
    assert GONE_AT + DAY + 120 <= fails_at(life) < GONE_AT + DAY + 121


def test_a_large_node_that_comes_within_the_period_runs_it() -> None:
    def arrange(world: World) -> None:
        sizes = {"cpu": "80", "memory": "1100Gi", GPU: "16", "pods": "250"}
        world.cluster.loop.outside(DAY + 100, world.programs.nodes.add, "big", sizes)

    life = live(large(), capacity=16, kueue=PATIENT, periods=PERIODS, arrange=arrange)
    assert life.phases()[-1] == "Succeeded"


def test_without_the_period_it_waits_for_its_warm_up() -> None:
    periods = {**PERIODS, "failUnschedulableDuration": "0s", "warmupGracePeriodDuration": "100m"}
    life = live(large(), capacity=16, kueue=PATIENT, periods={**periods, "retryLimit": "0"})
    failed = life.in_phase("Failed")
    assert condition(failed, "Unhealthy")[1] == "InsufficientPodsReady"
    assert 6000 <= life.at(failed) < 6010
