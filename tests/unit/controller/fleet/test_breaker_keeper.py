"""The breakers of a process: what they refuse, what they write down, and an admin's word."""

import json
import logging
from datetime import timedelta

import pytest

from controller.fleet.breaker import Breaker, Turned, encode
from controller.fleet.breaker_keeper import PACE
from shared.kube.client import Conflict, Unreachable
from tests.support.builders.autopilot import GPU
from tests.support.builders.health_record import config_map
from tests.support.builders.nodes import change, node
from tests.support.fakes.fake_clock import START, settle
from tests.support.fakes.kept_breakers import PLACE, KeeperBench, body, record, running

REFUSED = (
    "so many nodes turned NoExecute at once for nvidia.com/gpu "
    f"that an admin must confirm evacuations ({PLACE})"
)
UNKNOWN = f"the record of node health is not read yet ({PLACE})"
OPENED = (
    "3 of 10 nodes turned NoExecute for nvidia.com/gpu within 10m; evacuations wait. "
    "If these nodes really are bad: kubectl annotate configmap appwrapper-node-health "
    "-n appwrapper-system workload.codeflare.dev/confirm-evacuations=nvidia.com/gpu"
)


async def test_a_healthy_cluster_writes_nothing() -> None:
    async with running(KeeperBench(config_map(3))) as world:
        assert world.refused is None
        await world.clock.advance(3600)
        assert world.written == []


async def test_before_the_record_is_read_no_pod_is_evacuated() -> None:
    world = KeeperBench(config_map(3, record()))
    world.keeper.nodes_known()
    world.tag(0, 1, 2)
    assert (world.refused, world.closings) == (UNKNOWN, 0)
    async with running(world):
        assert (world.refused, world.closings) == (REFUSED, 1)


async def test_before_all_nodes_are_known_no_share_is_reported() -> None:
    world = KeeperBench(config_map(3, record(opened=False)))
    async with running(world, nodes_known=False):
        world.tag(0, 1, 2)
        await settle()
        assert (world.refused, world.written) == (UNKNOWN, [])
        world.answer(config_map(6))
        world.keeper.nodes_known()
        assert world.refused == REFUSED


async def test_it_refuses_at_once_and_is_written_down_at_a_pace() -> None:
    async with running(KeeperBench(config_map(3))) as world:
        world.answer(config_map(6, record(opened=False, turned=2)), config_map(7, record()))
        world.tag(0, 1)
        await settle()
        assert not world.refuses()
        world.tag(0, 1, 2)
        assert world.refused == REFUSED
        await settle()
        assert world.written == [body(3, record(opened=False, turned=2))]
        await world.clock.advance(PACE)
        assert world.written[1:] == [body(6, record())]
        assert world.events.told == [("Warning", "EvacuationBreakerOpen", OPENED)]
        await world.clock.advance(3600)
        assert world.refused == REFUSED


async def test_one_that_must_leave_for_another_resource_too_may_leave() -> None:
    async with running(KeeperBench(config_map(3))) as world:
        world.answer(config_map(6))
        world.tag(0, 1, 2)
        assert world.keeper.closed_to({GPU}) == REFUSED
        assert world.keeper.closed_to({GPU, "example.com/nic"}) is None
        assert world.keeper.closed_to({"example.com/nic"}) is None


async def test_a_breaker_stays_open_over_a_restart() -> None:
    world = KeeperBench(config_map(3, record()))
    world.tag(0, 1, 2)
    async with running(world):
        assert world.keeper.is_open(GPU)
        await world.clock.advance(timedelta(days=1).total_seconds())
        assert world.refused == REFUSED
        assert world.written == []


async def test_a_crash_before_the_write_makes_the_next_process_no_less_careful() -> None:
    world = KeeperBench(config_map(3, record(opened=False, turned=1)))
    world.tag(0, 1, 2)
    world.answer(config_map(6, record()))
    async with running(world):
        assert world.refused == REFUSED


async def test_nodes_that_were_bad_for_long_are_not_new_after_a_restart() -> None:
    old = {f"n{n}": Turned(f"uid-n{n}", START - timedelta(days=1)) for n in range(5)}
    world = KeeperBench(config_map(3, encode({GPU: Breaker(None, old)})))
    for number in range(5):
        known = node(f"n{number}", "EVICT")
        world.nodes.update(change(known, known), START)
    async with running(world):
        assert (world.refused, world.written) == (None, [])


async def test_it_closes_by_itself_when_the_share_falls_and_wakes_who_waits() -> None:
    world = KeeperBench(config_map(3, record()))
    world.tag(0, 1, 2)
    async with running(world):
        told = world.closings
        world.answer(config_map(6, record(opened=False, turned=2)))
        world.tag(0, 1)
        assert (world.refused, world.closings) == (None, told + 1)
        assert world.events.told == [
            ("Normal", "EvacuationBreakerClosed", "evacuations for nvidia.com/gpu continue")
        ]
        await settle()
        assert world.written == [body(3, record(opened=False, turned=2))]


async def test_an_admin_s_word_counts_once_it_is_written_down_with_its_annotation() -> None:
    world = KeeperBench(config_map(3, record()))
    world.tag(0, 1, 2)
    async with running(world):
        told = world.closings
        confirmed = record(opened=False, confirmed=True)
        world.answer(Unreachable("away"), config_map(7, confirmed))
        world.feed.send("MODIFIED", config_map(6, record(), confirmed=GPU))
        await settle()
        assert (world.refused, world.closings) == (REFUSED, told)
        await world.clock.advance(PACE)
        heard = {"annotations": {"workload.codeflare.dev/confirm-evacuations": None}}
        assert world.written == [body(6, confirmed, **heard)] * 2
        assert (world.refused, world.closings) == (None, told + 1)
        # What turns after that is not confirmed.
        world.answer(config_map(8, ""))
        world.tag(0, 1, 2, 3, 4, 5)
        assert world.refused == REFUSED


async def test_a_word_is_not_lost_with_the_answer_to_its_write() -> None:
    world = KeeperBench(config_map(3, record()))
    world.tag(0, 1, 2)
    async with running(world):
        world.answer(Unreachable("the answer was lost"))
        world.feed.send("MODIFIED", config_map(6, record(), confirmed=GPU))
        await settle()
        assert world.refused == REFUSED
        world.feed.send("MODIFIED", config_map(7, record(opened=False, confirmed=True)))
        await settle()
        assert not world.refuses()
        await world.clock.advance(PACE)
        assert len(world.written) == 1


async def test_a_confirmation_of_other_nodes_counts_for_nothing() -> None:
    world = KeeperBench(config_map(3, record()))
    world.tag(0, 1, 2)
    async with running(world):
        nodes = {
            "n0": Turned("uid-n0", START - timedelta(seconds=1), confirmed=True),
            "n1": Turned("another", START, confirmed=True),
            "n9": Turned("uid-n9", START, confirmed=True),
        }
        world.answer(config_map(7, record()))
        world.feed.send("MODIFIED", config_map(6, encode({GPU: Breaker(None, nodes)})))
        await settle()
        assert world.refused == REFUSED
        assert world.written == [body(6, record())]


async def test_a_confirmation_without_a_breaker_is_removed_and_reported() -> None:
    async with running(KeeperBench(config_map(3))) as world:
        world.answer(config_map(7))
        world.feed.send("MODIFIED", config_map(6, confirmed=f" {GPU},, nvidia.com/gpus,{GPU}"))
        await settle()
        heard = {"annotations": {"workload.codeflare.dev/confirm-evacuations": None}}
        assert world.written == [body(6, "{}", **heard)]
        told = (
            "workload.codeflare.dev/confirm-evacuations: no breaker of {} is open; nothing changes"
        )
        assert world.events.told == [
            ("Warning", "NothingToConfirm", told.format(GPU)),
            ("Warning", "NothingToConfirm", told.format("nvidia.com/gpus")),
        ]


async def test_a_conflict_is_tried_again_on_the_newest_version() -> None:
    async with running(KeeperBench(config_map(3))) as world:
        conflict = Conflict(409, "Conflict", "changed")
        text = record(opened=False, turned=1)
        world.answer(conflict, config_map(8, text))
        world.tag(0)
        await settle()
        world.feed.send("MODIFIED", config_map(7))
        await world.clock.advance(PACE)
        assert world.written == [body(3, text), body(7, text)]


async def test_a_record_that_was_emptied_is_written_again() -> None:
    world = KeeperBench(config_map(3, record()))
    world.tag(0, 1, 2)
    async with running(world):
        world.answer(config_map(7, record()))
        world.feed.send("MODIFIED", config_map(6))
        await settle()
        assert world.written == [body(6, record())]
        assert world.refused == REFUSED


async def test_without_the_config_map_breakers_work_from_memory(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(KeeperBench()) as world:
        world.tag(0, 1, 2)
        await settle()
        assert (world.refused, world.written, world.events.told) == (REFUSED, [], [])
        warned = f"there is no {PLACE}: a restart will not know of open breakers and latches"
        assert warned in caplog.messages
        world.answer(config_map(9, record()))
        world.feed.send("ADDED", config_map(8))
        await world.clock.advance(PACE)
        assert world.written == [body(8, record())]


async def test_a_foreign_record_is_ignored(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = KeeperBench(config_map(3, "[]"))
    world.tag(0)
    world.answer(config_map(6))
    async with running(world):
        assert world.refused is None
        assert json.loads(world.written[0]["data"]["evacuationBreakers"])[GPU][
            "noExecute"
        ].keys() == {"n0"}
    assert (
        f"{PLACE}: evacuationBreakers was not written by this controller: AttributeError"
        in caplog.text
    )


async def test_the_log_names_the_nodes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    async with running(KeeperBench(config_map(3))) as world:
        world.answer(config_map(6))
        world.tag(4, 5, 6)
    assert caplog.messages == [f"{OPENED} (n4, n5, n6)"]
