from datetime import datetime, timedelta
from typing import Any

import pytest

from controller.facts.latched_nodes import encode_latches
from controller.facts.nodes import Tag
from controller.fleet.fleet import CHECK_SECONDS
from shared.api.appwrapper import AppWrapper
from shared.injection.avoided_hosts import NO_HOSTS, AvoidedHosts
from tests.support.builders.autopilot import GPU
from tests.support.builders.health_record import config_map
from tests.support.builders.nodes import node, raw_node, unschedulable
from tests.support.fakes.fake_clock import START
from tests.support.fakes.fake_kube import listed
from tests.support.fakes.running_fleet import running


class Warnings:
    """A recorder of Warning events on Nodes."""

    def __init__(self) -> None:
        self.emitted: list[tuple[str, str, str]] = []

    def warning(self, about: Any, reason: str, message: str) -> None:
        assert (about.api_version, about.kind, about.namespace) == ("v1", "Node", "")
        assert about.uid == f"uid-{about.name}"
        self.emitted.append((about.name, reason, message))


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> Warnings:
    made = Warnings()
    monkeypatch.setattr("tests.support.fakes.running_fleet.NO_RECORDER", made)
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


async def test_a_latch_is_reported_expires_and_wakes_the_appwrappers_there(
    warnings: Warnings, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(LATCHING) as (world, clock):
        assert await world.change(raw_node("n1", "EVICT"), 8) == ["high", "low"]
        assert world.fleet.avoided_hosts(ANY) == AvoidedHosts(by_resource={GPU: ("n1", "n3")})
        await world.change(raw_node("n1", "PASS"), 9)
        assert warnings.emitted == [LATCHED]
        assert f"node n1: {LATCHED[2]}" in caplog.messages
        assert world.fleet.nodes.tags["n1"][GPU].gone == START
        for name in ("appwrapper_nodes_no_execute", "appwrapper_nodes_latched"):
            assert world.value(name, resource=GPU) == {"appwrapper_nodes_latched": 1.0}.get(
                name, 2.0
            )
        assert unschedulable(world.fleet.nodes) == 16
        world.woken.clear()
        await clock.advance(600 - 1)
        assert world.woken == []
        await clock.advance(CHECK_SECONDS + 1)
        assert world.woken == ["high", "low"]
        assert world.fleet.avoided_hosts(ANY) == AvoidedHosts(by_resource={GPU: ("n3",)})
        assert world.value("appwrapper_nodes_latched", resource=GPU) == 0.0
        assert warnings.emitted == [LATCHED]


async def test_an_admin_clears_a_latch_and_hears_of_a_word_that_does_not(
    warnings: Warnings,
) -> None:
    async with running(LATCHING) as (world, _):
        await world.change(raw_node("n1", "EVICT"), 8)
        await world.change(raw_node("n1"), 9)
        assert await world.change(raw_node("n1", cleared="true"), 10) == []
        problem = '"true" is not a time such as 2026-01-01T12:00:00Z, so it clears no latch: '
        message = f"annotation workload.codeflare.dev/latch-cleared: {problem}{CLEAR}"
        assert warnings.emitted == [LATCHED, ("n1", "LatchNotCleared", message)]
        woken = await world.change(raw_node("n1", cleared="2026-01-01T12:00:00Z"), 11)
        assert woken == ["high", "low"]
        assert "n1" not in world.fleet.nodes.tags
        # On a node that is well it is nobody's business.
        await world.change(raw_node("n1", cleared="yes"), 12)
        assert len(warnings.emitted) == 2


async def test_a_host_that_is_called_otherwise_than_its_node_is_avoided(
    warnings: Warnings,
) -> None:
    async with running(LATCHING) as (world, _):
        await world.change(raw_node("n1", "EVICT", hostname="rack-7-slot-3"), 8)
        avoided = world.fleet.avoided_hosts(ANY)
        assert avoided == AvoidedHosts(by_resource={GPU: ("n3", "rack-7-slot-3")})


async def test_without_injection_no_host_is_avoided(warnings: Warnings) -> None:
    section = {**LATCHING, "autopilot": {"injectAntiAffinities": False}}
    async with running(section) as (world, _):
        assert world.fleet.avoided_hosts(ANY) == NO_HOSTS
        assert "n3" in world.fleet.nodes.tags


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        (START - timedelta(seconds=1), []),  # the process before this one has told of it
        (None, [LATCHED]),  # the label went between the two
    ],
)
async def test_a_latch_that_was_written_down_wakes_who_runs_there(
    warnings: Warnings, gone: datetime | None, expected: list[Any]
) -> None:
    tag = Tag("autopilot.ibm.com/gpuhealth=EVICT", START - timedelta(hours=1), gone)
    latches = encode_latches([(node("n1"), {GPU: tag})])
    async with running(LATCHING, listed(5, config_map(3, latches=latches))) as (world, _):
        assert world.woken == ["high", "low"]
        assert warnings.emitted == expected


async def test_a_node_test_that_does_not_end_is_reported(warnings: Warnings) -> None:
    async with running(LATCHING) as (world, clock):
        await world.change(raw_node("n1", "TESTING"), 8)
        await clock.advance(3600 - 1)
        assert warnings.emitted == []
        assert world.value("appwrapper_nodes_test_overdue", resource=GPU) == 0.0
        await clock.advance(2 * CHECK_SECONDS)
        message = (
            "label autopilot.ibm.com/gpuhealth=TESTING for longer than 1h "
            "(nodeHealth.testingTimeout): its nvidia.com/gpu counts as unschedulable. See why the "
            "test does not end; to give the node back: kubectl label node n1 "
            "autopilot.ibm.com/gpuhealth-"
        )
        assert warnings.emitted == [("n1", "TestOverdue", message)]
        assert world.value("appwrapper_nodes_test_overdue", resource=GPU) == 1.0
        assert world.woken == []
