"""Nodes that do not answer: the index, who is woken, and the breaker."""

from datetime import timedelta

import pytest

from controller.facts.nodes import UNREACHABLE
from tests.support.builders.autopilot import GPU
from tests.support.builders.nodes import PROJECTION, change, index, node, raw_node
from tests.support.fakes.fake_clock import START
from tests.support.fakes.running_fleet import Silent, running

LATER = START + timedelta(minutes=1)


def test_the_silence_of_a_node_begins_with_its_condition_and_ends_with_it() -> None:
    nodes = index(START, n1="", n2="EVICT")
    well, silent = node("n1"), node("n1", silent=START)
    assert nodes.update(change(well, silent), LATER) == {UNREACHABLE}
    assert nodes.silent == {"n1": START}
    labelled = node("n1", "WARN", silent=START)
    assert nodes.update(change(silent, labelled), LATER) == frozenset()
    assert (nodes.turned_bad(UNREACHABLE), nodes.population(UNREACHABLE)) == ({"n1": LATER}, 2)
    assert nodes.turned_bad(GPU) == {"n1": LATER, "n2": START}
    assert nodes.tagged(GPU) == {"n2": START}
    assert nodes.update(change(labelled, well), LATER) == {UNREACHABLE}
    assert (nodes.silent, nodes.turned_bad(GPU)) == ({}, {"n2": START})


def test_the_removal_of_a_node_wakes_appwrappers_silent_or_not() -> None:
    """Their passes read whether it exists. The index keeps nothing of it."""
    nodes = index(START, n1="", n2="")
    silent = node("n1", silent=START)
    nodes.update(change(node("n1"), silent), LATER)
    assert nodes.update(change(silent, None), LATER) == {UNREACHABLE}
    assert nodes.silent == {}
    assert nodes.update(change(node("n2"), None), LATER) == {UNREACHABLE}


def test_the_breaker_counts_a_silence_from_when_this_process_noticed_it() -> None:
    """Deadlines keep the node's own time. A node keeps its time while it is silent."""
    nodes = index(START)
    long_ago, silent = START - timedelta(hours=1), node("n1", silent=START - timedelta(hours=1))
    nodes.update(change(None, silent), START)
    nodes.update(change(silent, silent), LATER)
    assert (nodes.silent, nodes.turned_bad(UNREACHABLE)) == ({"n1": long_ago}, {"n1": START})
    nodes.limit_times(START - timedelta(seconds=1))
    assert nodes.turned_bad(GPU) == {"n1": START - timedelta(seconds=1)}
    nodes.update(change(silent, node("n1")), LATER)
    assert nodes.turned_bad(UNREACHABLE) == {}


@pytest.mark.parametrize(("seconds", "known"), [(0, True), (-1, False)])
def test_a_silence_of_before_a_recorded_confirmation_was_known(seconds: int, known: bool) -> None:
    nodes, long_ago = index(START), START - timedelta(hours=1)
    nodes.update(change(None, node("n1", silent=long_ago)), START)
    nodes.known_before(long_ago + timedelta(seconds=seconds))
    assert nodes.turned_bad(UNREACHABLE) == {"n1": long_ago if known else START}


def test_a_silence_that_another_clock_puts_into_the_future_begins_now() -> None:
    nodes = index(START)
    nodes.update(change(None, node("n1", silent=LATER)), START)
    assert nodes.silent == {"n1": START}


@pytest.mark.parametrize(("status", "since"), [("False", None), ("True", None), ("Unknown", START)])
def test_only_a_node_whose_state_is_unknown_is_silent(status: str, since: object) -> None:
    raw = raw_node("n1", silent=START)
    raw["status"]["conditions"][0]["status"] = status
    assert PROJECTION.project(raw).silent_since == since


async def test_its_silence_wakes_all_appwrappers_with_pods_there() -> None:
    async with running() as (world, _):
        everyone = ["high", "cpu", "low", "pending"]
        assert await world.change(raw_node("n1", silent=START), 8) == everyone
        assert await world.change(raw_node("n1", silent=START), 9) == []
        assert await world.change(raw_node("n1"), 10) == everyone


async def test_one_open_breaker_keeps_an_appwrapper_on_a_silent_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An evacuation by labels waits only if all its breakers are open."""
    monkeypatch.setattr("tests.support.fakes.running_fleet.NO_RECORDER", Silent())
    settings = {"evacuationBreaker": {"percent": 50, "minimumNodes": 3}}
    async with running(settings) as (world, _):
        gate = world.fleet.reset_gate
        both = {UNREACHABLE, "cpu", GPU}
        assert gate.evacuation(both) is None
        await world.change(raw_node("n1", silent=START), 8)  # n3 is EVICT
        assert world.value("appwrapper_evacuation_breaker_open", resource=GPU) == 1.0
        assert world.value("appwrapper_evacuation_breaker_open", resource=UNREACHABLE) == 0.0
        hold = gate.evacuation(both)
        assert hold is not None
        assert "for nvidia.com/gpu that an admin must confirm" in hold.message
        assert gate.evacuation({UNREACHABLE, "cpu"}) is None
        await world.change(raw_node("n2", silent=START), 9)
        assert world.value("appwrapper_evacuation_breaker_open", resource=UNREACHABLE) == 1.0
        assert gate.evacuation({UNREACHABLE, "cpu"}) is not None
        await world.change(raw_node("n2"), 10)
        await world.change(raw_node("n1"), 11)
        assert gate.evacuation(both) is None
