"""Nodes that stop answering: their AppWrappers move after a time, and spend no retry."""

import pytest

from shared.api.conditions import condition as kubernetes_condition
from shared.api.conditions import conditions_of
from shared.api.names import LABEL_ATTEMPT
from shared.api.objects import NODES, label
from shared.api.times import parse_time
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
from tests.simulation.loop import EPOCH
from tests.simulation.scenarios import Act
from tests.simulation.workloads import job
from tests.support.builders.appwrappers import phase, true_conditions, version_of
from tests.support.life_record import READY, UNHEALTHY, condition, retries

NOTICED = 50.0  # after the silence begins


def silence(at: float = 60.0, lasts: float = 7200.0) -> Act:
    return Act(at, "silence", NAME, {"seconds": lasts})


def unknown_at(life: Life) -> list[tuple[str, float]]:
    """Returns the nodes whose condition Ready turned Unknown, each with the second of that."""
    found = []
    for write in life.world.cluster.store.history[NODES]:
        ready = kubernetes_condition(conditions_of(write.item.get("status") or {}), "Ready")
        if ready is None or ready["status"] != "Unknown":
            continue
        since = (parse_time(ready["lastTransitionTime"]) - EPOCH).total_seconds()
        entry = (write.item["metadata"]["name"], since)
        found += [entry] if entry not in found else []
    return found


def test_the_next_attempt_begins_elsewhere_within_the_target_and_spends_no_retry() -> None:
    life = live(job("j", 2, **LASTS), acts=(silence(),), periods=PERIODS)
    [(node, since)] = unknown_at(life)
    text = f"on node {node}, which does not answer since "

    unready = life.first(lambda item: text in said(item, READY))
    assert life.at(unready) - since < 1.5
    assert condition(unready, READY).status == "False"
    assert UNHEALTHY not in true_conditions(unready)

    resetting = life.in_phase("Resetting")
    assert GRACE <= life.at(resetting) - since < GRACE + 1
    bound = next_pods(life, 2)
    assert len(bound) == 2
    assert max(bound) <= since + GRACE + TARGET

    assert life.phases() == AGAIN
    assert retries(life.events[-1].object) == 0
    reason = condition(resetting, UNHEALTHY)
    assert (reason.status, reason.reason) == ("True", "NodeUnreachable")
    assert text in reason.message
    assert condition(resetting, READY).message == (
        "0 of 3 retries spent; the next attempt begins 0s after everything is deleted"
    )
    status = resetting["status"]
    [suspect] = status["suspectNodes"]
    assert (suspect["node"], suspect["attempt"], suspect["unreachable"]) == (node, 1, True)
    assert status["rootCause"]["node"] == node
    assert status["rootCause"]["infrastructure"] == "NodeUnreachable"
    assert text in status["rootCause"]["summary"]
    [forced] = warnings(life, "ForcedOnUnreachableNode")
    assert forced.startswith("deleted without confirmation from its node: Pod")
    assert text in forced
    there = [each.object for each in life.pod_events if each.object["spec"].get("nodeName") == node]
    assert {label(each, LABEL_ATTEMPT) for each in there} == {"1"}


@pytest.mark.parametrize(
    ("lasts", "moves"),
    [
        pytest.param(NOTICED + GRACE - 1.5, False, id="it answers before the deadline"),
        pytest.param(NOTICED + GRACE + 1.5, True, id="it answers after the deadline"),
    ],
)
def test_a_node_that_answers_before_the_deadline_changes_nothing(lasts: float, moves: bool) -> None:
    life = live(job("j", 2, **LASTS), acts=(silence(lasts=lasts),), periods=PERIODS)
    assert life.phases() == (AGAIN if moves else [*ONCE, "Succeeded"])
    if moves:
        return
    unready = life.first(lambda item: "does not answer" in said(item, READY))
    ready = life.first(lambda item: READY in true_conditions(item), after=version_of(unready))
    assert life.at(ready) - (60.0 + lasts) < 0.1
    assert "suspectNodes" not in ready["status"]


def test_zero_switches_it_off_and_the_operators_period_is_the_default() -> None:
    """The node is silent for less than Kubernetes tolerates."""
    acts = (silence(lasts=NOTICED + 280),)
    off = PERIODS | {"unreachableGracePeriodDuration": "0s"}
    assert live(job("j", 2, **LASTS), acts=acts, periods=off).phases() == [*ONCE, "Succeeded"]
    settings = {"faultTolerance": {"unreachableGracePeriod": "20s"}}
    life = live(job("j", 2, **LASTS), acts=acts, periods=PERIODS, settings=settings)
    [(_, since)] = unknown_at(life)
    assert 20 <= life.at(life.in_phase("Resetting")) - since < 21


def test_a_crash_neither_prolongs_nor_shortens_the_wait() -> None:
    crashes = tuple(Act(at, "crash") for at in (115.0, 170.0, 225.0))
    life = live(job("j", 2, **LASTS), acts=(silence(), *crashes), periods=PERIODS)
    [(_, since)] = unknown_at(life)
    assert GRACE <= life.at(life.in_phase("Resetting")) - since < GRACE + 1
    assert life.phases() == AGAIN
    assert retries(life.events[-1].object) == 0
    assert max(next_pods(life, 2)) <= since + GRACE + TARGET


def test_a_nodes_second_silence_within_a_day_spends_a_retry() -> None:
    """The AppWrapper runs nowhere else."""
    again = (silence(lasts=300.0), silence(900.0, 300.0))
    life = live(
        job("j", 1, **LASTS),
        acts=again,
        periods=PERIODS,
        prepare=lambda body: stay_on("n1", body),
    )
    assert [retries(item) for item in resets(life)] == [0, 1]
    assert [item["status"]["attempt"] for item in resets(life)] == [1, 2]
    assert life.phases()[-1] == "Succeeded"


def test_the_evacuation_breaker_holds_it_until_the_node_answers() -> None:
    """Each of the four nodes is more than 20 % of them."""
    settings = {"evacuationBreaker": {"minimumNodes": 4}}
    life = live(
        job("j", 2, **LASTS),
        acts=(silence(lasts=300.0),),
        periods=PERIODS,
        settings=settings,
        breaks=frozenset({"traceback"}),  # the log has an error, as the alert has
    )
    [(_, since)] = unknown_at(life)
    held = life.first(lambda item: UNHEALTHY in true_conditions(item))
    assert GRACE <= life.at(held) - since < GRACE + 1
    assert condition(held, UNHEALTHY).reason == "EvacuationBreakerOpen"
    assert "must confirm evacuations" in condition(held, UNHEALTHY).message
    assert life.phases()[:4] == ONCE
    healed = life.first(lambda item: UNHEALTHY not in true_conditions(item), after=version_of(held))
    assert (phase(healed), life.at(healed) - 360.0 < 1) == ("Running", True)


SHORT = {"warmupGracePeriodDuration": "20s", "failureGracePeriodDuration": "20s"}


@pytest.mark.parametrize("zero", [False, True])
def test_a_held_move_of_a_silent_node_is_held_beyond_all_other_periods(zero: bool) -> None:
    """The breaker is open, or the period is zero. The node answers before Kubernetes evicts."""
    settings = {} if zero else {"evacuationBreaker": {"minimumNodes": 4}}
    periods = PERIODS | SHORT | ({"unreachableGracePeriodDuration": "0s"} if zero else {})
    life = live(
        job("j", 2, **LASTS),
        acts=(silence(lasts=NOTICED + 280),),
        periods=periods,
        settings=settings,
        breaks=frozenset() if zero else frozenset({"traceback"}),  # the log has an error
    )
    assert life.phases() == [*ONCE, "Succeeded"]
    assert retries(life.events[-1].object) == 0
    assert warnings(life, "ForcedOnUnreachableNode") == []
    unhealthy = [each.object for each in life.events if UNHEALTHY in true_conditions(each.object)]
    reasons = {condition(item, UNHEALTHY).reason for item in unhealthy}
    assert reasons == (set() if zero else {"EvacuationBreakerOpen"})


def test_an_open_breaker_keeps_a_reset_from_forcing_pods_on_a_silent_node() -> None:
    """The pod was deleted, so it is missing: the next attempt waits until the node answers."""
    life = live(
        job("j", 2, **LASTS),
        acts=(silence(lasts=400.0), Act(200.0, "delete pod", NAME, {})),
        periods=PERIODS | SHORT,
        settings={"evacuationBreaker": {"minimumNodes": 4}},
        breaks=frozenset({"traceback"}),
    )
    assert warnings(life, "ForcedOnUnreachableNode") == []
    assert life.phases() == AGAIN
    assert life.at(life.in_phase("Resetting")) < 300
    assert min(next_pods(life, 2)) > 460
