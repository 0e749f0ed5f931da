"""What a node's change sets in motion."""

import logging
from pathlib import Path

import pytest

from controller.fleet.fleet import RECORD_PATIENCE
from controller.phases.snapshot import HoldReason
from shared.kube.client import Forbidden
from tests.support.builders.autopilot import GPU
from tests.support.builders.nodes import raw_node
from tests.support.builders.slack import SLACK
from tests.support.fakes.fake_clock import START, settle
from tests.support.fakes.running_fleet import Silent, running


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
async def test_other_labels_wake_no_appwrapper(label: str) -> None:
    async with running() as (world, _):
        assert await world.change(raw_node("n1", label), 8) == []


async def test_heartbeats_wake_no_appwrapper() -> None:
    async with running() as (world, _):
        for version in range(8, 12):
            beat = raw_node("n3", "EVICT")
            beat["status"]["conditions"] = [{"lastHeartbeatTime": str(version)}]
            assert await world.change(beat, version) == []


async def test_the_start_logs_the_number_of_nodes_of_each_taint(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "controller.fleet.fleet")
    async with running():
        pass
    opening = "resourceTaints: nvidia.com/gpu: autopilot.ibm.com/gpuhealth="
    assert [message for message in caplog.messages if message.startswith("resourceTaints")] == [
        f"{opening}ERR (NoSchedule) is on 0 of 3 nodes",
        f"{opening}TESTING (NoSchedule) is on 0 of 3 nodes",
        f"{opening}EVICT (NoExecute) is on 1 of 3 nodes",
        f"{opening}WARN (PreferNoSchedule) is on 0 of 3 nodes",
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
    monkeypatch.setattr("tests.support.fakes.running_fleet.NO_RECORDER", Silent())
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
        message = "the record of node health cannot be read yet: evacuations wait for it"
        assert message in caplog.messages
        assert world.hold("high", GPU) is HoldReason.BREAKER
        assert world.hold("low", None) is None


async def test_metrics_of_nodes() -> None:
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
    monkeypatch.setattr("tests.support.fakes.running_fleet.NO_RECORDER", Silent())
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


async def test_nodes_are_trusted_once_it_is_known_which_are_latched() -> None:
    async with running() as (world, _):
        assert world.fleet._nodes_certain()
    away = Forbidden(403, "Forbidden", "no record for you")
    async with running(record=away) as (world, clock):
        await clock.advance(RECORD_PATIENCE + 1)
        assert not world.fleet._nodes_certain()


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
    message = "slackQueue.name has no effect: autopilot.monitorNodes is false, so no node is read"
    assert message in caplog.messages
