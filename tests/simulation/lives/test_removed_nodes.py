"""Nodes that a cloud removes, silent or not: their AppWrappers move on, and spend no retry."""

import pytest

from shared.api.names import LABEL_ATTEMPT
from shared.api.objects import JsonObject, label
from tests.simulation.lives.left_nodes import (
    AGAIN,
    GRACE,
    LASTS,
    ONCE,
    PERIODS,
    TARGET,
    next_pods,
    resets,
    said,
    stay_on,
    warnings,
)
from tests.simulation.lives.lived import NAME, Life, live
from tests.simulation.loop import stamp
from tests.simulation.scenarios import Act
from tests.simulation.workloads import job, pod
from tests.support.builders.appwrappers import true_conditions, version_of
from tests.support.life_record import READY, UNHEALTHY, condition, retries

# The node's last heartbeat is at 60. It turns Unknown, and its cloud removes it. PodGC removes its
# pods 50 seconds after the Node.
SILENT, REMOVED = 110.0, 120.0
FOREVER = {"seconds": 7200.0}
LOSE = Act(60.0, "lose node", NAME, FOREVER)
REMOVE = Act(60.0, "remove node", NAME, FOREVER)
NONE_SPENT = "0 of 3 retries spent; the next attempt begins 0s after everything is deleted"


def bare(name: str = "p") -> JsonObject:
    return pod(name, **LASTS)


def moved(life: Life, since: float) -> JsonObject:
    """Checks that the AppWrapper left the node of its first pod, and returns it in Resetting."""
    resetting = life.in_phase("Resetting")
    node = resetting["status"]["rootCause"]["node"]
    text = f"on node {node}, which was removed and does not answer since {stamp(since)}"
    assert life.phases() == AGAIN
    assert retries(life.events[-1].object) == 0
    unhealthy = condition(resetting, UNHEALTHY)
    assert (unhealthy.status, unhealthy.reason) == ("True", "NodeUnreachable")
    assert text in unhealthy.message
    assert condition(resetting, READY).message == NONE_SPENT
    status = resetting["status"]
    assert text in status["rootCause"]["summary"]
    assert status["rootCause"]["infrastructure"] == "NodeUnreachable"
    [suspect] = status["suspectNodes"]
    assert (suspect["node"], suspect["attempt"], suspect["unreachable"]) == (node, 1, True)
    assert warnings(life, "ForcedOnUnreachableNode") == []
    there = [each.object for each in life.pod_events if each.object["spec"].get("nodeName") == node]
    assert {label(each, LABEL_ATTEMPT) for each in there} == {"1"}
    return resetting


@pytest.mark.parametrize("component", [job("j", 2, **LASTS), bare()], ids=["Job", "Pod"])
@pytest.mark.parametrize(("act", "since"), [(LOSE, SILENT), (REMOVE, 60.0)], ids=["silent", "well"])
def test_its_pods_count_as_on_a_silent_node_until_podgc_removes_them(
    component: JsonObject, act: Act, since: float
) -> None:
    life = live(component, acts=(act,), periods=PERIODS)
    resetting = moved(life, since)
    unready = life.first(lambda item: "does not answer since" in said(item, READY))
    assert life.at(unready) - since < 1.5
    assert max(next_pods(life, 2)) <= since + GRACE + TARGET
    ready = [
        each.object
        for each in life.events
        if version_of(unready) < version_of(each.object) < version_of(resetting)
        and READY in true_conditions(each.object)
    ]
    assert ready == [], "the removal of the node is no answer"


@pytest.mark.parametrize("at", [115.0, 119.9, 121.0, 169.9])
@pytest.mark.parametrize("component", [job("j", 2, **LASTS), bare()], ids=["Job", "Pod"])
def test_a_crash_loses_nothing_of_it(component: JsonObject, at: float) -> None:
    """The last of them is away while PodGC removes the pods."""
    life = live(component, acts=(LOSE, Act(at, "crash")), periods=PERIODS)
    moved(life, SILENT)


def test_a_period_that_ends_before_podgc_moves_it_then() -> None:
    periods = PERIODS | {"unreachableGracePeriodDuration": "20s"}
    life = live(job("j", 2, **LASTS), acts=(LOSE,), periods=periods)
    assert SILENT + 20 <= life.at(moved(life, SILENT)) < SILENT + 21


def test_zero_leaves_it_to_an_ordinary_reset() -> None:
    periods = PERIODS | {"unreachableGracePeriodDuration": "0s"}
    life = live(job("j", 2, **LASTS), acts=(LOSE,), periods=periods)
    assert life.phases() == AGAIN
    assert retries(life.events[-1].object) == 1
    resetting = life.in_phase("Resetting")
    assert condition(resetting, UNHEALTHY).reason == "FailedComponent"
    assert min(next_pods(life, 2)) > life.at(resetting) + 300


def test_a_node_that_returns_under_its_name_before_podgc_keeps_its_pods() -> None:
    life = live(job("j", 2, **LASTS), acts=(Act(60.0, "remove node", NAME, {"seconds": 30.0}),))
    assert life.phases() == [*ONCE, "Succeeded"]
    unready = life.first(lambda item: "was removed" in said(item, READY))
    ready = life.first(lambda item: READY in true_conditions(item), after=version_of(unready))
    assert life.at(ready) < 60 + 30 + 31


def test_pods_that_their_job_replaces_cause_no_reset() -> None:
    life = live(job("j", 2, backoff="3", **LASTS), acts=(LOSE,), periods=PERIODS)
    assert life.phases() == [*ONCE, "Succeeded"]
    assert retries(life.events[-1].object) == 0


def test_the_second_removal_of_a_name_within_a_day_spends_a_retry() -> None:
    again = (Act(60.0, "remove node", NAME, {"seconds": 200.0}), Act(600.0, "remove node", NAME))
    life = live(
        job("j", 1, **LASTS),
        acts=again,
        periods=PERIODS,
        prepare=lambda body: stay_on("n1", body),
    )
    assert [retries(item) for item in resets(life)] == [0, 1]
