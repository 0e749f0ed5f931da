"""What a taint of a device sets in motion: a breaker that counts it, then those who hold it."""

from typing import Any

import pytest

from controller.facts.devices import CLAIMS, RULES, SLICES
from controller.fleet.device_watch import PATIENCE
from controller.phases.snapshot import HoldReason
from shared.api.objects import JsonObject
from shared.kube.client import Unreachable
from tests.support.builders.devices import BAD, DRIVER, raw_claim, raw_rule, raw_slice
from tests.support.fakes.fake_clock import settle
from tests.support.fakes.fake_kube import FakeKube, WatchFeed, listed
from tests.support.fakes.running_fleet import PODS, FleetBench, Silent, running

SETTINGS = {"evacuationBreaker": {"percent": 50, "minimumNodes": 2}}
HOLDERS = {each.appwrapper: each for each in PODS}
POOLS = ("n1", "n2")


class Client(FakeKube):
    """Serves the devices of two nodes; `low` and `high` hold those of n1, `elsewhere` one of n2."""

    def __init__(self, *rules: JsonObject, served: Any = None) -> None:
        known = {"resources": [{"name": each.plural} for each in (SLICES, CLAIMS, RULES)]}
        super().__init__(answers={"get_path": [served or known]})
        objects = {
            SLICES: [raw_slice(each, "gpu-0", "gpu-1") for each in POOLS],
            CLAIMS: [
                holds("low", "n1", "gpu-0"),
                holds("high", "n1", "gpu-1"),
                holds("elsewhere", "n2", "gpu-0"),
            ],
            RULES: list(rules),
        }
        self.feeds = {each: WatchFeed() for each in objects}
        self._kinds = {
            each: FakeKube(lists=[[listed(7, *map(versioned, items))]], watches=[self.feeds[each]])
            for each, items in objects.items()
        }

    def pages(self, resource: Any, *args: Any, **kwargs: Any) -> Any:
        return self._kinds[resource].pages(resource, *args, **kwargs)

    def watch(self, resource: Any, *args: Any, **kwargs: Any) -> Any:
        return self._kinds[resource].watch(resource, *args, **kwargs)


def holds(appwrapper: str, pool: str, device: str) -> JsonObject:
    pod = HOLDERS[appwrapper]
    return raw_claim(appwrapper, pool, device, pod=pod.name, uid=pod.uid)


def versioned(raw: JsonObject, version: int = 7) -> JsonObject:
    raw["metadata"] |= {"resourceVersion": str(version), "uid": f"uid-{raw['metadata']['name']}"}
    return raw


async def change(
    world: FleetBench, client: Client, kind: Any, raw: JsonObject, how: str = "MODIFIED"
) -> list[str]:
    """Returns the keys that the change wakes."""
    world.woken.clear()
    client.feeds[kind].send(how, versioned(raw, 8))
    await settle()
    return world.woken


async def test_a_taint_wakes_exactly_those_who_hold_a_device_of_the_pool() -> None:
    client = Client()
    async with running(devices=client) as (world, _):
        assert world.woken == []
        tainted = raw_slice("n1", "gpu-0", "gpu-1", taints={"gpu-0": BAD})
        assert await change(world, client, SLICES, tainted) == ["high", "low"]
        uid = HOLDERS["low"].uid
        assert [str(each.device) for each in world.fleet.devices.taints()(uid)] == [
            f"{DRIVER}/n1/gpu-0"
        ]


async def test_a_rule_wakes_those_who_hold_what_it_selects() -> None:
    client = Client()
    async with running(devices=client) as (world, _):
        rule = raw_rule("r", {"pool": "n2"})
        assert await change(world, client, RULES, rule, "ADDED") == ["elsewhere"]


async def test_the_breaker_counts_the_devices_before_any_appwrapper_is_woken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.support.fakes.running_fleet.NO_RECORDER", Silent())
    client = Client()
    async with running(SETTINGS, devices=client) as (world, _):
        world.fleet._wake = lambda key: world.woken.append(str(world.hold(key[1], DRIVER)))
        everything = raw_rule("r", {})
        assert await change(world, client, RULES, everything, "ADDED") == ["breaker"] * 3
        assert world.value("appwrapper_evacuation_breaker_open", resource=DRIVER) == 1.0
        world.fleet._wake = world._wake
        woken = await change(world, client, RULES, raw_rule("r", {}), "DELETED")
        assert set(woken) == {"high", "low", "elsewhere"}
        assert world.hold("low", DRIVER) is None


async def test_a_rule_that_was_there_before_the_start_is_counted_at_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.support.fakes.running_fleet.NO_RECORDER", Silent())
    async with running(SETTINGS, devices=Client(raw_rule("r", {}))) as (world, _):
        assert world.hold("low", DRIVER) is HoldReason.BREAKER
        assert set(world.woken) == {"high", "low", "elsewhere"}


async def test_a_claim_of_a_tainted_device_wakes_its_pods() -> None:
    client = Client(raw_rule("r", {"pool": "n2"}))
    async with running(devices=client) as (world, _):
        assert await change(world, client, CLAIMS, holds("low", "n2", "gpu-1")) == ["low"]
        assert await change(world, client, CLAIMS, holds("high", "n1", "gpu-0")) == []


async def test_devices_that_cannot_be_read_do_not_hold_up_the_start(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = Client(served=Unreachable("away"))
    client.answers["get_path"] += [Unreachable("away")] * 20
    async with running(devices=client) as (world, clock):
        assert not world.fleet.devices.known
        await clock.advance(PATIENCE)
        assert "devices cannot be read yet: their taints are not known" in caplog.messages
        assert len(world.fleet.nodes) == 3
