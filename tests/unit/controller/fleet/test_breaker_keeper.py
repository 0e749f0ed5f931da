"""The breakers of a process: what they refuse, what they write down, and an admin's word."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from controller.facts.latches import encode_latches
from controller.facts.nodes import Tag
from controller.fleet.breaker import RECORD_NAME, Breaker, Turned, encode
from controller.fleet.breaker_keeper import PACE, BreakerKeeper
from controller.fleet.node_index import NodeIndex
from shared.api.objects import CONFIGMAPS
from shared.config.fault_tolerance import EvacuationBreaker, NodeHealth
from shared.kube.client import Conflict, PatchType, Unreachable
from tests.support.builders.autopilot import GPU, HEALTH
from tests.support.builders.health_record import NAMESPACE, config_map
from tests.support.builders.nodes import TAINTS, change, node
from tests.support.fakes.fake_clock import START, FakeClock, settle
from tests.support.fakes.fake_kube import FakeKube, WatchFeed, listed

PLACE = "ConfigMap appwrapper-system/appwrapper-node-health"
REFUSED = (
    "so many nodes turned NoExecute at once for nvidia.com/gpu "
    f"that an admin must confirm evacuations ({PLACE})"
)
UNKNOWN = f"what is known of the nodes is not read yet ({PLACE})"
OPENED = (
    "3 of 10 nodes turned NoExecute for nvidia.com/gpu within 10m; evacuations wait. "
    "If these nodes really are bad: kubectl annotate configmap appwrapper-node-health "
    "-n appwrapper-system workload.codeflare.dev/confirm-evacuations=nvidia.com/gpu"
)
EVENT = tuple[str, str, str]


@dataclass
class Events:
    """What people hear, on the ConfigMap."""

    told: list[EVENT] = field(default_factory=list)

    def normal(self, about: Any, reason: str, message: str) -> None:
        self._tell("Normal", about, reason, message)

    def warning(self, about: Any, reason: str, message: str) -> None:
        self._tell("Warning", about, reason, message)

    def _tell(self, kind: str, about: Any, reason: str, message: str) -> None:
        named = (about.kind, about.namespace, about.name, about.uid)
        assert named == ("ConfigMap", NAMESPACE, RECORD_NAME, "record")
        self.told.append((kind, reason, message))


class World:
    """Ten nodes of 8 GPUs; a keeper with a record that reads as told, and a clock."""

    def __init__(self, *there: Any, latch: timedelta = timedelta(0)) -> None:
        self.clock = FakeClock()
        self.feed = WatchFeed()
        self.kube = FakeKube(lists=[[listed(5, *there)]], watches=[self.feed])
        self.nodes = NodeIndex(TAINTS, NodeHealth(latch=latch))
        self.events = Events()
        self.closings = 0
        self.turned: list[Any] = []
        client: Any = self.kube
        recorder: Any = self.events
        self.keeper = BreakerKeeper(
            client,
            self.clock,
            self.nodes,
            EvacuationBreaker(),
            NAMESPACE,
            recorder,
            self.closed,
            self.turned.append,
        )
        self.tag()

    def closed(self) -> None:
        self.closings += 1

    def tag(self, *bad: int) -> None:
        """Exactly these nodes are EVICT now."""
        for number in range(10):
            known = node(f"n{number}", "EVICT" if number in bad else "")
            self.nodes.update(change(known, known), self.clock.now())
        self.keeper.look()

    def answer(self, *answers: Any) -> None:
        """To the patches that come."""
        self.kube.answers["patch"] = list(answers)

    @property
    def refused(self) -> str | None:
        return self.keeper.closed_to({GPU})

    def refuses(self) -> bool:
        """Tells whether it does now; of an attribute mypy would believe it for ever."""
        return self.refused is not None

    @property
    def written(self) -> list[Any]:
        """The bodies of all patches."""
        for call in self.kube.called("patch"):
            assert call.args[:3] == (CONFIGMAPS, NAMESPACE, RECORD_NAME)
            assert call.args[4] is PatchType.MERGE
        return [call.args[3] for call in self.kube.called("patch")]


def record(opened: bool = True, *, turned: int = 3, **changes: Any) -> str:
    nodes = {f"n{n}": Turned(f"uid-n{n}", START, **changes) for n in range(turned)}
    return encode({GPU: Breaker(START if opened else None, nodes)})


def body(version: int, text: str, **metadata: Any) -> Any:
    found = {"uid": "record", "resourceVersion": str(version), **metadata}
    return {"metadata": found, "data": {"evacuationBreakers": text}}


@asynccontextmanager
async def running(world: World, *, nodes_known: bool = True) -> AsyncIterator[World]:
    if nodes_known:
        world.keeper.nodes_known()
    tasks = [
        asyncio.create_task(world.keeper.record.run()),
        asyncio.create_task(world.keeper.run()),
    ]
    await settle()
    try:
        yield world
    finally:
        for task in tasks:
            task.cancel()
        assert {type(each) for each in await asyncio.gather(*tasks, return_exceptions=True)} == {
            asyncio.CancelledError
        }


async def test_a_healthy_cluster_writes_nothing() -> None:
    async with running(World(config_map(3))) as world:
        assert world.refused is None
        await world.clock.advance(3600)
        assert world.written == []


async def test_until_the_record_is_read_nobody_is_evacuated() -> None:
    world = World(config_map(3, record()))
    world.keeper.nodes_known()
    world.tag(0, 1, 2)
    assert (world.refused, world.closings) == (UNKNOWN, 0)
    async with running(world):
        assert (world.refused, world.closings) == (REFUSED, 1)


async def test_until_all_nodes_are_known_no_share_is_told() -> None:
    world = World(config_map(3, record(opened=False)))
    async with running(world, nodes_known=False):
        world.tag(0, 1, 2)
        await settle()
        assert (world.refused, world.written) == (UNKNOWN, [])
        world.answer(config_map(6))
        world.keeper.nodes_known()
        assert world.refused == REFUSED


async def test_it_refuses_at_once_and_is_written_down_at_a_pace() -> None:
    async with running(World(config_map(3))) as world:
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
    async with running(World(config_map(3))) as world:
        world.answer(config_map(6))
        world.tag(0, 1, 2)
        assert world.keeper.closed_to({GPU}) == REFUSED
        assert world.keeper.closed_to({GPU, "example.com/nic"}) is None
        assert world.keeper.closed_to({"example.com/nic"}) is None


async def test_a_breaker_stays_open_over_a_restart() -> None:
    world = World(config_map(3, record()))
    world.tag(0, 1, 2)
    async with running(world):
        assert world.keeper.is_open(GPU)
        await world.clock.advance(timedelta(days=1).total_seconds())
        assert world.refused == REFUSED
        assert world.written == []


async def test_a_crash_before_the_write_makes_the_next_process_no_less_careful() -> None:
    world = World(config_map(3, record(opened=False, turned=1)))
    world.tag(0, 1, 2)
    world.answer(config_map(6, record()))
    async with running(world):
        assert world.refused == REFUSED


async def test_nodes_that_were_bad_for_long_are_not_new_after_a_restart() -> None:
    old = {f"n{n}": Turned(f"uid-n{n}", START - timedelta(days=1)) for n in range(5)}
    world = World(config_map(3, encode({GPU: Breaker(None, old)})))
    for number in range(5):
        known = node(f"n{number}", "EVICT")
        world.nodes.update(change(known, known), START)
    async with running(world):
        assert (world.refused, world.written) == (None, [])


async def test_it_closes_by_itself_when_the_share_falls_and_wakes_who_waits() -> None:
    world = World(config_map(3, record()))
    world.tag(0, 1, 2)
    async with running(world):
        told = world.closings
        world.answer(config_map(6, record(opened=False, turned=2)))
        world.tag(0, 1)
        assert (world.refused, world.closings) == (None, told + 1)
        assert world.events.told == [
            ("Normal", "EvacuationBreakerClosed", "evacuations for nvidia.com/gpu go on")
        ]
        await settle()
        assert world.written == [body(3, record(opened=False, turned=2))]


async def test_an_admin_s_word_counts_once_it_is_written_down_with_its_annotation() -> None:
    world = World(config_map(3, record()))
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
    world = World(config_map(3, record()))
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
    world = World(config_map(3, record()))
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


async def test_a_word_about_nothing_is_taken_away_and_told() -> None:
    async with running(World(config_map(3))) as world:
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
    async with running(World(config_map(3))) as world:
        conflict = Conflict(409, "Conflict", "changed")
        text = record(opened=False, turned=1)
        world.answer(conflict, config_map(8, text))
        world.tag(0)
        await settle()
        world.feed.send("MODIFIED", config_map(7))
        await world.clock.advance(PACE)
        assert world.written == [body(3, text), body(7, text)]


async def test_a_record_that_was_emptied_is_written_again() -> None:
    world = World(config_map(3, record()))
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
    async with running(World()) as world:
        world.tag(0, 1, 2)
        await settle()
        assert (world.refused, world.written, world.events.told) == (REFUSED, [], [])
        warned = f"there is no {PLACE}: a restart will not know of open breakers"
        assert warned in caplog.messages
        world.answer(config_map(9, record()))
        world.feed.send("ADDED", config_map(8))
        await world.clock.advance(PACE)
        assert world.written == [body(8, record())]


async def test_a_record_that_is_not_ours_counts_for_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(config_map(3, "[]"))
    world.tag(0)
    world.answer(config_map(6))
    async with running(world):
        assert world.refused is None
        assert json.loads(world.written[0]["data"]["evacuationBreakers"])[GPU][
            "noExecute"
        ].keys() == {"n0"}
    assert f"{PLACE}: evacuationBreakers is not ours: AttributeError" in caplog.text


async def test_the_log_names_the_nodes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    async with running(World(config_map(3))) as world:
        world.answer(config_map(6))
        world.tag(4, 5, 6)
    assert caplog.messages == [f"{OPENED} (n4, n5, n6)"]


# Latches: their record, and labels in doubt.

LATCH = timedelta(hours=12)
EVICTED = f"{HEALTH}=EVICT"


def latches(*names: str, gone: datetime | None = None, doubted: bool = False) -> str:
    tag = Tag(EVICTED, START, gone, doubted)
    return encode_latches([(node(name), {GPU: tag}) for name in names])


def written_latches(world: World) -> list[Any]:
    return [each["data"].get("latches", "unchanged") for each in world.written]


async def test_a_label_is_written_down_when_it_comes_and_when_it_goes() -> None:
    async with running(World(config_map(3), latch=LATCH)) as world:
        here, gone = latches("n0"), latches("n0", gone=START + timedelta(seconds=PACE))
        text = record(opened=False, turned=1)
        world.answer(config_map(6, text, latches=here), config_map(7, text, latches=gone))
        world.tag(0)
        await world.clock.advance(PACE)
        world.tag()
        await settle()
        assert written_latches(world) == [here, gone]
        # It stays one of the nodes that turned, so it does not turn anew with its next label.
        assert world.nodes.tagged(GPU) == {"n0": "uid-n0"}
        assert [each["data"]["evacuationBreakers"] for each in world.written] == [text] * 2


async def test_a_latch_is_taken_over_and_whoever_must_know_hears_of_it() -> None:
    gone = latches("n0", gone=START - timedelta(hours=1))
    world = World(config_map(3, record(opened=False, turned=1), latches=gone), latch=LATCH)
    async with running(world):
        assert world.turned == [{"n0": frozenset({GPU})}]
        assert world.nodes.latched(GPU) == ["n0"]
        assert world.written == []
        world.clock.pass_by(LATCH.total_seconds())
        world.nodes.pass_time(world.clock.now())
        world.answer(config_map(6, "{}"))
        world.keeper.look()
        await settle()
        assert world.written == [
            {
                "metadata": {"uid": "record", "resourceVersion": "3"},
                "data": {"evacuationBreakers": "{}", "latches": None},
            }
        ]


async def test_a_label_that_goes_between_two_processes_leaves_a_latch() -> None:
    there = config_map(3, record(opened=False, turned=1), latches=latches("n0"))
    world = World(there, latch=LATCH)
    world.answer(config_map(6, record(opened=False, turned=1), latches="x"))
    async with running(world):
        assert world.nodes.tags.get("n0") == {GPU: Tag(EVICTED, START, gone=START)}
        assert written_latches(world) == [latches("n0", gone=START)]


async def test_without_a_latch_what_an_earlier_configuration_wrote_is_taken_away() -> None:
    world = World(config_map(3, "{}", latches=latches("n0", gone=START)))
    world.answer(config_map(6, "{}"))
    async with running(world):
        assert (world.turned, world.nodes.tagged(GPU)) == ([], {})
        assert written_latches(world) == [None]


async def test_latches_that_are_not_ours_count_for_nothing_and_breakers_stay(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World(config_map(3, record(), latches="{"), latch=LATCH)
    world.tag(0, 1, 2)
    world.answer(config_map(6, record()))
    async with running(world):
        assert world.refused == REFUSED
        assert written_latches(world) == [latches("n0", "n1", "n2", doubted=True)]
    assert f"{PLACE}: latches is not ours: JSONDecodeError" in caplog.text


async def test_labels_that_open_the_breaker_leave_no_latch_when_they_are_corrected() -> None:
    async with running(World(config_map(3), latch=LATCH)) as world:
        world.answer(*[config_map(6, "x")] * 9)
        world.tag(0, 1, 2)
        assert world.refuses()
        world.tag(0, 1)  # the share has fallen, and the breaker closes
        assert not world.refuses()
        world.tag()
        assert (world.nodes.tags, world.nodes.tagged(GPU)) == ({}, {})


async def test_labels_that_an_admin_has_confirmed_do() -> None:
    async with running(World(config_map(3), latch=LATCH)) as world:
        doubted = latches("n0", "n1", "n2", doubted=True)
        world.answer(config_map(6, record(), latches=doubted), config_map(8, "x"))
        world.tag(0, 1, 2)
        await settle()
        assert world.nodes.avoided_hosts() == {}
        confirmed = config_map(7, record(), GPU, latches=doubted)
        world.answer(config_map(8, "x"), config_map(9, "x"), config_map(10, "x"))
        world.feed.send("MODIFIED", confirmed)
        await world.clock.advance(PACE)
        assert not world.refuses()
        assert world.nodes.avoided_hosts() == {GPU: ("n0", "n1", "n2")}
        world.tag()
        assert world.nodes.latched(GPU) == ["n0", "n1", "n2"]


async def test_nodes_that_are_latched_do_not_turn_anew() -> None:
    async with running(World(config_map(3), latch=LATCH)) as world:
        world.answer(*[config_map(6, "x")] * 9)
        world.tag(0, 1)
        world.tag()
        await world.clock.advance(timedelta(minutes=11).total_seconds())
        world.tag(0, 1, 2)  # two of them turned 11 minutes ago
        assert not world.refuses()
