"""What a node's change sets in motion."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from controller.facts.latches import encode_latches
from controller.facts.nodes import Tag
from controller.facts.pods import Pod
from controller.fleet.fleet import LOOK_AT_TIME, RECORD_PATIENCE, Fleet
from controller.fleet.permits import Key
from controller.phases.snapshot import HoldReason
from shared.api.appwrapper import AppWrapper
from shared.config.configuration import Configuration
from shared.injection.avoided_hosts import NO_HOSTS, AvoidedHosts
from shared.kube.client import Forbidden
from shared.process.clock import Clock
from shared.process.supervisor import Supervisor
from tests.support.builders.autopilot import GPU
from tests.support.builders.health_record import config_map
from tests.support.builders.nodes import node, raw_node
from tests.support.builders.remembered_pods import pod
from tests.support.builders.slack import SLACK, gpu_queue, raw_flavor
from tests.support.fakes.fake_clock import START, FakeClock, settle
from tests.support.fakes.fake_kube import FakeKube, WatchFeed, listed

LATER = START + timedelta(seconds=1)
NOTHING_TOLD: Any = None  # a recorder that nobody may use


def gpu_pod(name: str, node: str, priority: int = 0, **changes: Any) -> Pod:
    return pod(
        f"{name}-0", appwrapper=name, node=node, priority=priority, resources=(GPU,), **changes
    )


PODS = (
    gpu_pod("low", "n1"),
    gpu_pod("high", "n1", 100),
    gpu_pod("pending", "n1", phase="Pending"),
    gpu_pod("elsewhere", "n2"),
    pod("cpu-0", appwrapper="cpu", node="n1", resources=("cpu",)),
)


class World:
    """A fleet of three nodes, n3 being EVICT, whose watches a test feeds."""

    def __init__(self, config: Configuration, clock: Clock, record: Any) -> None:
        self.nodes_feed = WatchFeed()
        self.record_feed = WatchFeed()
        nodes = [raw_node("n1"), raw_node("n2"), raw_node("n3", "EVICT")]
        lists: dict[str, Any] = {
            "nodes": listed(7, *nodes),
            "configmaps": record,
            "clusterqueues": listed(5, gpu_queue(SLACK, 24)),
            "resourceflavors": listed(5, raw_flavor()),
        }
        feeds = {kind: WatchFeed() for kind in lists}
        feeds |= {"nodes": self.nodes_feed, "configmaps": self.record_feed}
        self.client = Client(lists, feeds)
        self.woken: list[str] = []
        self.registry = CollectorRegistry()
        client: Any = self.client
        self.fleet = Fleet(
            client,
            clock,
            config,
            NOTHING_TOLD,
            self.registry,
            pods_on=lambda node: [each for each in PODS if each.node == node],
            pods_of=lambda key: [each for each in PODS if each.appwrapper == key[1]],
            wake=self._wake,
        )

    def _wake(self, key: Key) -> None:
        namespace, name = key
        assert namespace == "team1"
        self.woken.append(name)

    async def change(self, raw: Any, version: int) -> list[str]:
        """Who is woken by it."""
        self.woken.clear()
        raw["metadata"]["resourceVersion"] = str(version)
        self.nodes_feed.send("MODIFIED", raw)
        await settle()
        return self.woken

    def hold(self, name: str, evacuation: str | None, now: datetime = LATER) -> HoldReason | None:
        with self.fleet.permits.asking(name, ("team1", name), now) as asking:
            hold = asking.hold({evacuation} if evacuation else None)
        return hold.reason if hold else None

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)


class Client(FakeKube):
    """One script for each resource."""

    def __init__(self, lists: dict[str, Any], feeds: dict[str, WatchFeed]) -> None:
        served = {"versions": [{"version": "v1beta2"}]}
        super().__init__(answers={"patch": [config_map(20)] * 20, "get_path": [served]})
        self._kinds = {
            kind: FakeKube(lists=[[lists[kind]]] * 9, watches=[feeds[kind]]) for kind in lists
        }

    def pages(self, resource: Any, *args: Any, **kwargs: Any) -> Any:
        return self._kinds[resource.plural].pages(resource, *args, **kwargs)

    def watch(self, resource: Any, *args: Any, **kwargs: Any) -> Any:
        return self._kinds[resource.plural].watch(resource, *args, **kwargs)


def configuration(**section: Any) -> Configuration:
    return Configuration.model_validate({"appwrapper": section})


@asynccontextmanager
async def running(
    section: dict[str, Any] | None = None, record: Any = None, file: Path | None = None
) -> AsyncIterator[tuple[World, FakeClock]]:
    clock = FakeClock()
    read = listed(5, config_map(3)) if record is None else record
    world = World(configuration(**(section or {})), clock, read)
    stop = asyncio.Event()
    task = asyncio.create_task(Supervisor(world.fleet.parts(file), clock).run(stop))
    await settle(60)
    try:
        yield world, clock
    finally:
        stop.set()
        await task


async def test_a_label_wakes_exactly_those_who_use_the_resource_there() -> None:
    async with running() as (world, _):
        assert world.woken == []
        assert await world.change(raw_node("n1", "EVICT"), 8) == ["high", "low"]
        assert await world.change(raw_node("n1", ""), 9) == ["high", "low"]


async def test_priority_counts_among_all_nodes_that_turn_in_one_breath() -> None:
    async with running() as (world, _):
        for version, name in ((8, "n2"), (9, "n1")):
            raw = raw_node(name, "EVICT")
            raw["metadata"]["resourceVersion"] = str(version)
            world.nodes_feed.send("MODIFIED", raw)
        await settle()
        assert world.woken == ["high", "elsewhere", "low"]


@pytest.mark.parametrize("label", ["ERR", "TESTING", "WARN", "PASS"])
async def test_other_labels_wake_nobody(label: str) -> None:
    async with running() as (world, _):
        assert await world.change(raw_node("n1", label), 8) == []


async def test_heartbeats_wake_nobody() -> None:
    async with running() as (world, _):
        for version in range(8, 12):
            beat = raw_node("n3", "EVICT")
            beat["status"]["conditions"] = [{"lastHeartbeatTime": str(version)}]
            assert await world.change(beat, version) == []


async def test_the_start_says_how_many_nodes_each_taint_is_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "controller.fleet.fleet")
    async with running():
        pass
    told = "resourceTaints: nvidia.com/gpu: autopilot.ibm.com/gpuhealth="
    assert [message for message in caplog.messages if message.startswith("resourceTaints")] == [
        f"{told}ERR (NoSchedule) is on 0 of 3 nodes",
        f"{told}TESTING (NoSchedule) is on 0 of 3 nodes",
        f"{told}EVICT (NoExecute) is on 1 of 3 nodes",
        f"{told}WARN (PreferNoSchedule) is on 0 of 3 nodes",
    ]


async def test_a_controller_that_begins_allows_no_burst() -> None:
    async with running({}) as (world, _):
        assert world.hold("first", None, START) is HoldReason.RATE
        assert world.hold("first", None) is None


async def test_unwatched_nodes_are_not_asked_for() -> None:
    async with running({"autopilot": {"monitorNodes": False}}) as (world, _):
        assert world.fleet.parts(None) == []
        assert world.fleet.nodes.tags.get("n3") is None
        assert world.hold("low", None) is None
        assert world.value("appwrapper_nodes", resource=GPU) is None


async def test_the_node_that_tips_the_scale_is_known_to_the_breaker_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = {"evacuationBreaker": {"percent": 50, "minimumNodes": 3}}
    monkeypatch.setattr(f"{__name__}.NOTHING_TOLD", Silent())
    async with running(settings) as (world, _):
        assert world.hold("high", GPU) is None
        world.fleet._wake = lambda key: world.woken.append(str(world.hold(key[1], GPU)))
        assert await world.change(raw_node("n1", "EVICT"), 8) == ["breaker", "breaker"]
        assert world.value("appwrapper_evacuation_breaker_open", resource=GPU) == 1.0
        assert world.value("appwrapper_resets_waiting", reason="breaker") == 2.0
        # Its end wakes them again, for their pods are well and for the breaker is closed.
        world.fleet._wake = world._wake
        woken = await world.change(raw_node("n1", ""), 9)
        assert woken == ["high", "low", "high", "low"]
        assert world.value("appwrapper_evacuation_breaker_open", resource=GPU) == 0.0


class Silent:
    """A recorder."""

    def warning(self, *_: Any) -> None: ...

    def normal(self, *_: Any) -> None: ...


class Warnings:
    """A recorder of Warning events on Nodes."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str]] = []

    def warning(self, about: Any, reason: str, message: str) -> None:
        assert (about.api_version, about.kind, about.namespace) == ("v1", "Node", "")
        assert about.uid == f"uid-{about.name}"
        self.told.append((about.name, reason, message))


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> Warnings:
    made = Warnings()
    monkeypatch.setattr(f"{__name__}.NOTHING_TOLD", made)
    return made


LATCHING = {"nodeHealth": {"latch": "10m", "testingTimeout": "1h"}}
CLEAR = (
    "kubectl annotate node n1 --overwrite workload.codeflare.dev/latch-cleared=$(date -u +%FT%TZ)"
)
LATCHED = (
    "n1",
    "NodeLatched",
    "label autopilot.ibm.com/gpuhealth=EVICT is gone; for nvidia.com/gpu the node stays NoExecute "
    f"until 2026-01-01T12:10:00Z (nodeHealth.latch). If it is repaired: {CLEAR}",
)
ANY = AppWrapper({})  # latches are the same for all


async def test_a_latch_is_told_ends_by_itself_and_wakes_who_waits_there(
    warnings: Warnings, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(LATCHING) as (world, clock):
        assert await world.change(raw_node("n1", "EVICT"), 8) == ["high", "low"]
        assert world.fleet.avoided_hosts(ANY, ()) == AvoidedHosts(by_resource={GPU: ("n1", "n3")})
        await world.change(raw_node("n1", "PASS"), 9)
        assert warnings.told == [LATCHED]
        assert f"node n1: {LATCHED[2]}" in caplog.messages
        assert world.fleet.nodes.tags["n1"][GPU].gone == START
        for name in ("appwrapper_nodes_no_execute", "appwrapper_nodes_latched"):
            assert world.value(name, resource=GPU) == {"appwrapper_nodes_latched": 1.0}.get(
                name, 2.0
            )
        assert world.fleet.nodes.unschedulable(GPU) == 16
        world.woken.clear()
        await clock.advance(600 - 1)
        assert world.woken == []
        await clock.advance(LOOK_AT_TIME + 1)
        assert world.woken == ["high", "low"]
        assert world.fleet.avoided_hosts(ANY, ()) == AvoidedHosts(by_resource={GPU: ("n3",)})
        assert world.value("appwrapper_nodes_latched", resource=GPU) == 0.0
        assert warnings.told == [LATCHED]


async def test_an_admin_clears_a_latch_and_hears_of_a_word_that_does_not(
    warnings: Warnings,
) -> None:
    async with running(LATCHING) as (world, _):
        await world.change(raw_node("n1", "EVICT"), 8)
        await world.change(raw_node("n1"), 9)
        assert await world.change(raw_node("n1", cleared="true"), 10) == []
        problem = '"true" is not a time such as 2026-01-01T12:00:00Z, so it clears no latch: '
        told = f"annotation workload.codeflare.dev/latch-cleared: {problem}{CLEAR}"
        assert warnings.told == [LATCHED, ("n1", "LatchNotCleared", told)]
        woken = await world.change(raw_node("n1", cleared="2026-01-01T12:00:00Z"), 11)
        assert woken == ["high", "low"]
        assert "n1" not in world.fleet.nodes.tags
        # On a node that is well it is nobody's business.
        await world.change(raw_node("n1", cleared="yes"), 12)
        assert len(warnings.told) == 2


async def test_a_host_that_is_called_otherwise_than_its_node_is_avoided(
    warnings: Warnings,
) -> None:
    async with running(LATCHING) as (world, _):
        await world.change(raw_node("n1", "EVICT", hostname="rack-7-slot-3"), 8)
        avoided = world.fleet.avoided_hosts(ANY, ())
        assert avoided == AvoidedHosts(by_resource={GPU: ("n3", "rack-7-slot-3")})


async def test_without_injection_no_host_is_avoided(warnings: Warnings) -> None:
    section = {**LATCHING, "autopilot": {"injectAntiAffinities": False}}
    async with running(section) as (world, _):
        assert world.fleet.avoided_hosts(ANY, ()) == NO_HOSTS
        assert "n3" in world.fleet.nodes.tags


@pytest.mark.parametrize(
    ("gone", "told"),
    [
        (START - timedelta(seconds=1), []),  # the process before this one has told of it
        (None, [LATCHED]),  # the label went between the two
    ],
)
async def test_a_latch_that_was_written_down_wakes_who_runs_there(
    warnings: Warnings, gone: datetime | None, told: list[Any]
) -> None:
    tag = Tag("autopilot.ibm.com/gpuhealth=EVICT", START - timedelta(hours=1), gone)
    latches = encode_latches([(node("n1"), {GPU: tag})])
    async with running(LATCHING, listed(5, config_map(3, latches=latches))) as (world, _):
        assert world.woken == ["high", "low"]
        assert warnings.told == told


async def test_a_test_that_does_not_end_is_told(warnings: Warnings) -> None:
    async with running(LATCHING) as (world, clock):
        await world.change(raw_node("n1", "TESTING"), 8)
        await clock.advance(3600 - 1)
        assert warnings.told == []
        assert world.value("appwrapper_nodes_test_overdue", resource=GPU) == 0.0
        await clock.advance(2 * LOOK_AT_TIME)
        told = (
            "label autopilot.ibm.com/gpuhealth=TESTING for longer than 1h "
            "(nodeHealth.testingTimeout): its nvidia.com/gpu counts as unschedulable. See why the "
            "test does not end; to give the node back: kubectl label node n1 "
            "autopilot.ibm.com/gpuhealth-"
        )
        assert warnings.told == [("n1", "TestOverdue", told)]
        assert world.value("appwrapper_nodes_test_overdue", resource=GPU) == 1.0
        assert world.woken == []


async def test_the_end_of_a_pause_wakes_who_waited_highest_priority_first(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("appwrapper: {pauseResets: true}")
    async with running({"pauseResets": True}, file=file) as (world, clock):
        for name in ("elsewhere", "low", "high"):
            assert world.hold(name, None) is HoldReason.PAUSED
        assert world.value("appwrapper_resets_paused") == 1.0
        file.write_text("")
        await clock.advance(5)
        assert world.woken == ["high", "elsewhere", "low"]
        assert world.hold("low", None) is None
        assert world.value("appwrapper_resets_paused") == 0.0


async def test_a_record_that_may_not_be_read_holds_evacuations_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with running(record=Forbidden(403, "Forbidden", "no")) as (world, clock):
        await clock.advance(RECORD_PATIENCE)
        told = "the record of node health cannot be read yet: evacuations wait for it"
        assert told in caplog.messages
        assert world.hold("high", GPU) is HoldReason.BREAKER
        assert world.hold("low", None) is None


async def test_what_is_shown_of_the_nodes() -> None:
    async with running() as (world, _):
        assert world.value("appwrapper_nodes", resource=GPU) == 3.0
        assert world.value("appwrapper_nodes_no_execute", resource=GPU) == 1.0
        for reason, amount in (("label", 8.0), ("cordoned", 0.0), ("out_of_reach", 0.0)):
            shown = world.value("appwrapper_unschedulable_capacity", resource=GPU, reason=reason)
            assert (reason, shown) == (reason, amount)
        assert world.value("appwrapper_evacuation_breaker_open", resource=GPU) == 0.0
        assert world.value("appwrapper_resets_paused") == 0.0
        for reason in HoldReason:
            assert world.value("appwrapper_resets_waiting", reason=reason.value) == 0.0


async def test_the_slack_queue_follows_the_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.NOTHING_TOLD", Silent())
    async with running({"slackQueue": {"name": SLACK, "dryRun": True}}) as (world, clock):
        shown = {"flavor": "default-flavor", "resource": GPU}
        await clock.advance(2)
        assert world.value("appwrapper_slack_lendable", **shown) == 16.0
        cordoned = raw_node("n1", spec={"unschedulable": True})
        assert await world.change(cordoned, 8) == []
        await clock.advance(2)
        assert world.value("appwrapper_slack_lendable", **shown) == 8.0
        # What no flavor names is known, and shown nowhere.
        assert world.value("appwrapper_nodes", resource="cpu") is None
        # Other people's labels may be a flavor's, and wake nobody.
        labelled = raw_node("n2")
        labelled["metadata"]["labels"]["team"] = "a"
        assert await world.change(labelled, 9) == []


async def test_without_a_slack_queue_kueue_is_not_asked() -> None:
    async with running() as (world, _):
        assert world.fleet.slack is None
        assert world.client.called("get_path") == []


async def test_a_slack_queue_without_a_view_of_the_nodes_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = {"slackQueue": {"name": SLACK}, "autopilot": {"monitorNodes": False}}
    async with running(settings) as (world, _):
        assert world.fleet.slack is None
        assert world.client.called("get_path") == []
    told = "slackQueue.name has no effect: autopilot.monitorNodes is false, so no node is read"
    assert told in caplog.messages
