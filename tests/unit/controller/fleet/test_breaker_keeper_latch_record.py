"""What is written down of latches beside the breakers, and labels that an open breaker doubts."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from controller.facts.latched_nodes import encode_latches
from controller.facts.nodes import Tag
from controller.fleet.breaker_keeper import PACE
from tests.support.builders.autopilot import GPU, HEALTH
from tests.support.builders.health_record import config_map
from tests.support.builders.nodes import node
from tests.support.fakes.fake_clock import START, settle
from tests.support.fakes.kept_breakers import PLACE, KeeperBench, record, running

LATCH = timedelta(hours=12)
EVICTED = f"{HEALTH}=EVICT"


def latches(*names: str, since: datetime = START, gone: datetime | None = None) -> str:
    tag = Tag(EVICTED, since, gone)
    return encode_latches([(node(name), {GPU: tag}) for name in names])


def written_latches(world: KeeperBench) -> list[Any]:
    return [each["data"].get("latches", "unchanged") for each in world.written]


async def test_a_label_is_written_down_when_it_comes_and_when_it_goes() -> None:
    async with running(KeeperBench(config_map(3), latch=LATCH)) as world:
        here, gone = latches("n0"), latches("n0", gone=START + timedelta(seconds=PACE))
        world.answer(config_map(6, "{}", latches=here), config_map(7, "{}", latches=gone))
        world.tag(0)
        await world.clock.advance(PACE)
        world.tag()
        await settle()
        assert written_latches(world) == [here, gone]
        assert world.nodes.tagged(GPU) == {"n0": START}


async def test_a_recorded_latch_is_loaded_and_its_listeners_are_called() -> None:
    gone = latches("n0", gone=START - timedelta(hours=1))
    world = KeeperBench(config_map(3, "{}", latches=gone), latch=LATCH)
    async with running(world):
        assert world.turned == [{"n0": frozenset({GPU})}]
        assert world.nodes.latched(GPU) == ["n0"]
        assert world.written == []
        world.clock.pass_by(LATCH.total_seconds())
        world.nodes.pass_time(world.clock.now())
        world.answer(config_map(6, "{}"))
        world.keeper.evaluate()
        await settle()
        assert world.written == [
            {
                "metadata": {"uid": "record", "resourceVersion": "3"},
                "data": {"evacuationBreakers": "{}", "latches": None},
            }
        ]


async def test_a_label_that_goes_between_two_processes_leaves_a_latch() -> None:
    there = config_map(3, "{}", latches=latches("n0"))
    world = KeeperBench(there, latch=LATCH)
    world.answer(config_map(6, "{}", latches="x"))
    async with running(world):
        assert world.nodes.tags.get("n0") == {GPU: Tag(EVICTED, START, gone=START)}
        assert written_latches(world) == [latches("n0", gone=START)]


async def test_without_a_latch_what_an_earlier_configuration_wrote_is_taken_away() -> None:
    world = KeeperBench(config_map(3, "{}", latches=latches("n0", gone=START)))
    world.answer(config_map(6, "{}"))
    async with running(world):
        assert (world.turned, world.nodes.tagged(GPU)) == ([], {})
        assert written_latches(world) == [None]


async def test_foreign_latches_are_ignored_and_breakers_stay(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = KeeperBench(config_map(3, record(), latches="{"), latch=LATCH)
    world.tag(0, 1, 2)
    world.answer(config_map(6, record()))
    async with running(world):
        assert world.refuses()
        assert written_latches(world) == [latches("n0", "n1", "n2")]
    assert f"{PLACE}: latches was not written by this controller: JSONDecodeError" in caplog.text


async def test_labels_that_open_the_breaker_leave_no_latch_when_they_are_corrected() -> None:
    async with running(KeeperBench(config_map(3), latch=LATCH)) as world:
        world.answer(*[config_map(6, "x")] * 9)
        world.tag(0, 1, 2)
        assert world.refuses()
        world.tag(0, 1)  # the share has fallen, and the breaker closes
        assert not world.refuses()
        world.tag()
        assert (world.nodes.tags, world.nodes.tagged(GPU)) == ({}, {})


async def test_labels_that_are_corrected_while_no_controller_runs_leave_no_latch() -> None:
    there = latches("n0", "n1", "n2", "n3")
    world = KeeperBench(config_map(3, record(), latches=there), latch=LATCH)
    world.answer(*[config_map(6, "x")] * 9)
    world.tag(0)
    async with running(world):
        assert not world.refuses()
        assert list(world.nodes.tags) == ["n0"]
        assert world.nodes.latched(GPU) == []


async def test_a_confirmation_covers_recorded_labels_by_their_time() -> None:
    async with running(KeeperBench(config_map(3), latch=LATCH)) as world:
        world.answer(*[config_map(6, "x")] * 9)
        world.tag(0, 1, 2)
        await world.clock.advance(60)
        world.answer(*[config_map(8, "x")] * 9)
        world.feed.send("MODIFIED", config_map(7, record(), GPU))
        await world.clock.advance(PACE)
        assert not world.refuses()
        world.tag(0, 1, 2, 3, 4, 5)
        assert world.refuses()
        # The breaker doubts the labels that came after the confirmation, and no others.
        assert world.nodes.avoided_hosts() == {GPU: ("n0", "n1", "n2")}
        world.tag()
        assert world.nodes.latched(GPU) == ["n0", "n1", "n2"]


async def test_nodes_that_were_bad_for_long_are_not_new_after_a_restart() -> None:
    there = latches(*(f"n{number}" for number in range(5)), since=START - timedelta(days=1))
    world = KeeperBench(config_map(3, "{}", latches=there), latch=LATCH)
    world.tag(0, 1, 2, 3, 4)
    async with running(world):
        assert (world.refused, world.written, world.events.emitted) == (None, [], [])


async def test_after_a_restart_a_confirmation_covers_the_nodes_that_had_turned_before_it() -> None:
    there = latches("n0", "n1", "n2", since=START - timedelta(minutes=2))
    confirmed = record(None, confirmed=START - timedelta(minutes=1))
    world = KeeperBench(config_map(3, confirmed, latches=there), latch=LATCH)
    world.answer(*[config_map(6, "x")] * 9)
    world.tag(0, 1, 2, 3, 4)
    async with running(world):
        assert not world.refuses()
        world.tag(0, 1, 2, 3, 4, 5)
        assert world.refuses()


async def test_labels_that_an_admin_has_confirmed_do() -> None:
    async with running(KeeperBench(config_map(3), latch=LATCH)) as world:
        there = latches("n0", "n1", "n2")
        world.answer(config_map(6, record(), latches=there), config_map(8, "x"))
        world.tag(0, 1, 2)
        await settle()
        assert world.nodes.avoided_hosts() == {}
        confirmed = config_map(7, record(), GPU, latches=there)
        world.answer(config_map(8, "x"), config_map(9, "x"), config_map(10, "x"))
        world.feed.send("MODIFIED", confirmed)
        await world.clock.advance(PACE)
        assert not world.refuses()
        assert world.nodes.avoided_hosts() == {GPU: ("n0", "n1", "n2")}
        world.tag()
        assert world.nodes.latched(GPU) == ["n0", "n1", "n2"]


async def test_latched_nodes_do_not_turn_bad_again() -> None:
    async with running(KeeperBench(config_map(3), latch=LATCH)) as world:
        world.answer(*[config_map(6, "x")] * 9)
        world.tag(0, 1)
        world.tag()
        await world.clock.advance(timedelta(minutes=11).total_seconds())
        world.tag(0, 1, 2)  # two of them turned 11 minutes ago
        assert not world.refuses()
