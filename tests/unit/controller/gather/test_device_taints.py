"""Before an evacuation the rules and slices that taint the devices are read again."""

from typing import Any

import pytest

from controller.facts.devices import RULES, SLICES, nothing_held
from controller.gather.device_taints import still_tainted
from shared.kube.client import Forbidden
from shared.kube.responses import api_error
from tests.support.builders.devices import BAD, Devices, full_pools, raw_rule, raw_slice
from tests.support.fakes.fake_kube import FakeKube

GONE = api_error(404, "NotFound", "it is gone")
TAINTED = raw_slice("n0", "gpu-0", "gpu-1", taints={"gpu-0": BAD})


def ruled() -> Devices:
    devices = full_pools(2)
    devices.rule(raw_rule("r", {}))
    return devices


def written() -> Devices:
    devices = full_pools(2)
    devices.slice(TAINTED)
    return devices


async def still(devices: Devices, *answers: Any, uids: tuple[str, ...] = ("p0",)) -> list[int]:
    """Returns how many taints each pod still has."""
    client = FakeKube(answers={"get": list(answers)})
    held = await still_tainted(client, devices.index.taints(), uids)
    assert not client.answers.get("get")
    return [len(held(uid)) for uid in uids]


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        (raw_rule("r", {}), 1),
        (raw_rule("r", {"pool": "n0"}), 1),
        (raw_rule("r", {"pool": "n1"}), 0),
        (raw_rule("r", None), 0),
        (raw_rule("r", {}, {**BAD, "effect": "NoSchedule"}), 0),
        (GONE, 0),
    ],
)
async def test_a_rule_counts_as_it_is_now(answer: Any, left: int) -> None:
    assert await still(ruled(), answer) == [left]


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        (TAINTED, 1),
        (raw_slice("n0", "gpu-0", "gpu-1", taints={"gpu-1": BAD}), 0),
        (raw_slice("n0", "gpu-0", "gpu-1"), 0),
        (GONE, 0),
    ],
)
async def test_a_slice_counts_as_it_is_now(answer: Any, left: int) -> None:
    assert await still(written(), answer) == [left]


async def test_each_source_is_read_once() -> None:
    assert await still(ruled(), raw_rule("r", {}), uids=("p0", "p1", "other")) == [1, 1, 0]


async def test_nothing_is_read_without_a_taint_that_evacuates() -> None:
    devices = full_pools(1)
    devices.rule(raw_rule("r", {}, {**BAD, "effect": "NoSchedule"}))
    assert await still(devices) == [1]
    assert await still_tainted(FakeKube(), nothing_held, ["p0"]) is nothing_held


async def test_the_paths_name_the_source() -> None:
    client = FakeKube(answers={"get": [raw_rule("r", {}), TAINTED]})
    devices = written()
    devices.rule(raw_rule("r", {}))
    await still_tainted(client, devices.index.taints(), ["p0"])
    assert [call.args for call in client.called("get")] == [
        (RULES, None, "r"),
        (SLICES, None, "n0-gpu.example.com"),
    ]


async def test_a_read_that_fails_raises() -> None:
    with pytest.raises(Forbidden):
        await still(ruled(), Forbidden(403, "Forbidden", "no"))
