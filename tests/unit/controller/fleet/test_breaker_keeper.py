"""The breakers of a process: what they refuse, what they write down, and an admin's word."""

import json
import logging
from datetime import timedelta

import pytest

from controller.fleet.breaker_keeper import PACE
from shared.kube.client import Conflict, Unreachable
from tests.support.builders.autopilot import GPU
from tests.support.builders.health_record import config_map
from tests.support.builders.nodes import change, node
from tests.support.fakes.fake_clock import START, settle
from tests.support.fakes.kept_breakers import PLACE, KeeperBench, body, record, running

REFUSED = (
    "so many nodes turned NoExecute or unreachable at once for nvidia.com/gpu "
    f"that an admin must confirm evacuations ({PLACE})"
)
UNKNOWN = f"the record of node health is not read yet ({PLACE})"
OPENED = (
    "3 of 10 nodes turned NoExecute or unreachable for nvidia.com/gpu within 10m, or were so when "
    "the controller started; evacuations wait. If these nodes really are bad: kubectl annotate "
    "configmap appwrapper-node-health -n appwrapper-system "
    "workload.codeflare.dev/confirm-evacuations=nvidia.com/gpu"
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
    world = KeeperBench(config_map(3))
    async with running(world, nodes_known=False):
        world.tag(0, 1, 2)
        await settle()
        assert (world.refused, world.written) == (UNKNOWN, [])
        world.answer(config_map(6))
        world.keeper.nodes_known()
        assert world.refused == REFUSED


async def test_it_refuses_at_once_and_is_written_down() -> None:
    async with running(KeeperBench(config_map(3))) as world:
        world.tag(0, 1)
        await settle()
        assert not world.refuses()
        world.answer(config_map(7, record()))
        world.tag(0, 1, 2)
        assert world.refused == REFUSED
        await settle()
        assert world.written == [body(3, record())]
        assert world.events.emitted == [("Warning", "EvacuationBreakerOpen", OPENED)]
        await world.clock.advance(3600)
        assert world.refused == REFUSED


async def test_writes_of_the_record_keep_a_pace() -> None:
    async with running(KeeperBench(config_map(3))) as world:
        world.answer(config_map(6, record()), config_map(7, "{}"))
        world.tag(0, 1, 2)
        await settle()
        world.tag()
        await settle()
        assert world.written == [body(3, record())]
        await world.clock.advance(PACE)
        assert world.written[1:] == [body(6, "{}")]


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


async def test_an_upgrade_keeps_an_open_breaker() -> None:
    node = {"uid": "uid-n0", "since": "2026-01-01T11:59:00.000000Z"}
    written = {"openedAt": "2026-01-01T12:00:00.000000Z", "noExecute": {"n0": node}}
    world = KeeperBench(config_map(3, json.dumps({GPU: written})))
    world.clock.pass_by(timedelta(days=1).total_seconds())
    world.tag(0, 1, 2)
    world.answer(config_map(6, record()))
    async with running(world):
        assert world.refused == REFUSED
        assert world.written == [body(3, record())]


async def test_an_upgrade_does_not_extend_the_confirmation_of_one_node_to_all() -> None:
    node = {"uid": "uid-n0", "since": "2026-01-01T11:59:00.000000Z", "confirmed": True}
    world = KeeperBench(config_map(3, json.dumps({GPU: {"noExecute": {"n0": node}}})))
    world.tag(*range(10))
    world.answer(config_map(6, record()))
    async with running(world):
        assert world.refused == REFUSED


async def test_a_crash_before_the_write_makes_the_next_process_no_less_careful() -> None:
    world = KeeperBench(config_map(3))
    world.tag(0, 1, 2)
    world.answer(config_map(6, record()))
    async with running(world):
        assert world.refused == REFUSED


async def test_nodes_that_were_confirmed_are_not_new_after_a_restart() -> None:
    world = KeeperBench(config_map(3, record(None, confirmed=START - timedelta(days=1))))
    world.tag(0, 1, 2, 3, 4)
    world.answer(config_map(6))
    async with running(world):
        assert (world.refused, world.written) == (None, [body(3, record(None, confirmed=START))])
        world.clock.pass_by(1)
        world.tag(*range(8))
        assert world.refused == REFUSED


async def test_nodes_that_turn_before_the_record_is_read_are_not_confirmed() -> None:
    world = KeeperBench(config_map(3, record(None, confirmed=START - timedelta(days=1))))
    world.tag(0, 1, 2)
    world.keeper.nodes_known()
    world.clock.pass_by(1)
    world.tag(*range(6))
    world.answer(config_map(6))
    async with running(world):
        assert world.refused == REFUSED
        opened = START + timedelta(seconds=1)
        assert world.written == [body(3, record(opened, confirmed=START))]


async def test_the_record_omits_a_confirmation_whose_nodes_are_too_few() -> None:
    world = KeeperBench(config_map(3, record(None, confirmed=START)))
    world.tag(0, 1, 2)
    async with running(world):
        world.answer(config_map(6, "{}"))
        for number in range(10, 15):
            world.nodes.update(change(None, node(f"n{number}")), START)
        world.keeper.evaluate()
        await settle()
        assert world.written == [body(3, "{}")]
        world.clock.pass_by(1)
        world.tag(0, 1, 2, 3, 4, 5)
        assert world.refused is None


async def test_an_earlier_confirmation_leaves_a_breaker_open_after_a_restart() -> None:
    world = KeeperBench(config_map(3, record(confirmed=START - timedelta(days=1))))
    world.tag(0, 1, 2)
    world.answer(config_map(6))
    async with running(world):
        assert (world.refused, world.written) == (REFUSED, [body(3, record())])


async def test_it_closes_by_itself_when_the_share_falls_and_wakes_who_waits() -> None:
    world = KeeperBench(config_map(3, record()))
    world.tag(0, 1, 2)
    async with running(world):
        closings = world.closings
        world.answer(config_map(6, "{}"))
        world.tag(0, 1)
        assert (world.refused, world.closings) == (None, closings + 1)
        assert world.events.emitted == [
            ("Normal", "EvacuationBreakerClosed", "evacuations for nvidia.com/gpu continue")
        ]
        await settle()
        assert world.written == [body(3, "{}")]


async def test_an_admin_s_word_counts_once_it_is_written_down_with_its_annotation() -> None:
    world = KeeperBench(config_map(3, record()))
    world.tag(0, 1, 2)
    async with running(world):
        closings = world.closings
        confirmed = record(None, confirmed=START + timedelta(seconds=PACE))
        world.answer(Unreachable("away"), config_map(7, confirmed))
        world.feed.send("MODIFIED", config_map(6, record(), confirmed=GPU))
        await settle()
        assert (world.refused, world.closings) == (REFUSED, closings)
        await world.clock.advance(PACE)
        heard = {"annotations": {"workload.codeflare.dev/confirm-evacuations": None}}
        first = body(6, record(None, confirmed=START), **heard)
        assert world.written == [first, body(6, confirmed, **heard)]
        assert (world.refused, world.closings) == (None, closings + 1)
        # What turns after that is not confirmed.
        world.clock.pass_by(1)
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
        world.feed.send("MODIFIED", config_map(7, record(None, confirmed=START)))
        await settle()
        assert not world.refuses()
        await world.clock.advance(PACE)
        assert len(world.written) == 1


async def test_a_confirmation_after_the_clock_was_set_back_has_effect() -> None:
    world = KeeperBench(config_map(3, record()))
    world.tag(0, 1, 2)
    async with running(world):
        world.clock.pass_by(-3600)
        earlier = START - timedelta(hours=1)
        world.answer(config_map(7, record(earlier)), config_map(8, record(None, confirmed=earlier)))
        world.feed.send("MODIFIED", config_map(6, record(), confirmed=GPU))
        await settle()
        assert not world.refuses()
        assert world.written[-1]["data"]["evacuationBreakers"] == record(None, confirmed=earlier)
        world.clock.pass_by(1)
        world.tag(*range(6))
        assert world.refused == REFUSED


async def test_a_confirmation_before_the_clock_was_set_back_confirms_no_later_node() -> None:
    world = KeeperBench(config_map(3, record(None, confirmed=START)))
    world.tag(0, 1, 2)
    async with running(world):
        world.answer(*[config_map(6, "x")] * 9)
        world.clock.pass_by(60)
        world.tag(*range(5))
        assert not world.refuses()
        world.clock.pass_by(-120)
        world.keeper.evaluate()
        assert world.refused == REFUSED
        # The record from before the change of the clock arrives once more.
        world.clock.pass_by(1)
        world.feed.send("MODIFIED", config_map(7, record(None, confirmed=START)))
        await settle()
        assert world.refused == REFUSED


async def test_a_recorded_confirmation_does_not_cover_nodes_that_turned_later() -> None:
    world = KeeperBench(config_map(3, record()))
    world.tag(0, 1, 2)
    async with running(world):
        world.answer(config_map(7, record()))
        world.feed.send(
            "MODIFIED", config_map(6, record(None, confirmed=START - timedelta(seconds=1)))
        )
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
        message = (
            "workload.codeflare.dev/confirm-evacuations: no breaker of {} is open; nothing changes"
        )
        assert world.events.emitted == [
            ("Warning", "NothingToConfirm", message.format(GPU)),
            ("Warning", "NothingToConfirm", message.format("nvidia.com/gpus")),
        ]


async def test_a_conflict_is_tried_again_on_the_newest_version() -> None:
    async with running(KeeperBench(config_map(3))) as world:
        world.answer(Conflict(409, "Conflict", "changed"), config_map(8, record()))
        world.tag(0, 1, 2)
        await settle()
        world.feed.send("MODIFIED", config_map(7))
        await world.clock.advance(PACE)
        assert world.written == [body(3, record()), body(7, record())]


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
        assert (world.refused, world.written, world.events.emitted) == (REFUSED, [], [])
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
    world.answer(config_map(6, "{}"))
    async with running(world):
        assert (world.refused, world.written) == (None, [body(3, "{}")])
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
