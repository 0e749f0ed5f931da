"""Which taints the devices of a pod have, and which pools a breaker counts."""

from datetime import timedelta

import pytest

from controller.facts.devices import nothing_held
from shared.api.objects import JsonObject
from tests.support.builders.devices import (
    BAD,
    BAD_WORDS,
    DRIVER,
    Devices,
    full_pools,
    raw_claim,
    raw_rule,
    raw_slice,
)
from tests.support.fakes.fake_clock import START

GPU = f"{DRIVER}/n0/gpu-0"
BY_RULE = f"{GPU} {BAD_WORDS} of DeviceTaintRule r"
LATER = START + timedelta(minutes=5)


def with_effect(effect: str) -> JsonObject:
    return {**BAD, "effect": effect}


def test_without_taints_no_pod_is_searched() -> None:
    devices = full_pools(2)
    assert devices.index.taints() is nothing_held
    devices.rule(raw_rule("none", {}, with_effect("None")))
    assert devices.index.taints() is nothing_held


def test_a_taint_of_the_driver_is_that_of_one_device() -> None:
    devices = full_pools(2)
    changed = devices.slice(raw_slice("n0", "gpu-0", "gpu-1", taints={"gpu-0": BAD}))
    assert changed == {(DRIVER, "n0")}
    assert (devices.held("p0"), devices.held("p1")) == ([f"{GPU} {BAD_WORDS}"], [])
    assert dict(devices.index.turned_bad(DRIVER)) == {"n0": START}
    assert devices.slice(raw_slice("n0", "gpu-0", "gpu-1", taints={"gpu-1": BAD})) == {
        (DRIVER, "n0")
    }
    assert devices.slice(raw_slice("n1", "gpu-0", "gpu-1", generation=2)) == frozenset()
    assert devices.held("p0") == []
    assert dict(devices.index.turned_bad(DRIVER)) == {"n0": START}
    devices.slice(raw_slice("n0", "gpu-0", "gpu-1"))
    assert dict(devices.index.turned_bad(DRIVER)) == {}
    assert devices.index.taints() is nothing_held


@pytest.mark.parametrize(
    ("selector", "tainted"),
    [
        ({}, ["p0", "p1"]),
        (None, []),
        ({"driver": DRIVER}, ["p0", "p1"]),
        ({"driver": "nic.example.com"}, []),
        ({"pool": "n1"}, ["p1"]),
        ({"device": "gpu-0"}, ["p0", "p1"]),
        ({"device": "gpu-1"}, []),
        ({"driver": DRIVER, "pool": "n0", "device": "gpu-0"}, ["p0"]),
        ({"driver": DRIVER, "pool": "n0", "device": "gpu-1"}, []),
    ],
)
def test_a_rule_taints_what_meets_all_criteria(
    selector: JsonObject | None, tainted: list[str]
) -> None:
    devices = full_pools(2)
    devices.rule(raw_rule("r", selector))
    assert [each for each in ("p0", "p1") if devices.held(each)] == tainted
    devices.rule(None, "r")
    assert devices.index.taints() is nothing_held


def test_a_breaker_counts_the_pools_that_a_rule_taints() -> None:
    devices = full_pools(3)
    devices.rule(raw_rule("r", {"pool": "n1", "device": "gpu-7"}))
    assert dict(devices.index.turned_bad(DRIVER)) == {}
    devices.rule(raw_rule("r", {}, with_effect("NoSchedule")))
    assert dict(devices.index.turned_bad(DRIVER)) == {}
    devices.now = LATER
    devices.rule(raw_rule("r", {}))
    assert dict(devices.index.turned_bad(DRIVER)) == {"n0": LATER, "n1": LATER, "n2": LATER}
    assert (devices.index.population(DRIVER), devices.index.drivers) == (3, frozenset({DRIVER}))


def test_a_rule_that_is_widened_counts_as_new() -> None:
    devices = full_pools(2)
    devices.rule(raw_rule("r", {"pool": "n0"}))
    devices.now = LATER
    devices.rule(raw_rule("r", {}))
    assert dict(devices.index.turned_bad(DRIVER)) == {"n0": LATER, "n1": LATER}


def test_a_device_that_no_current_slice_lists_has_no_taint() -> None:
    devices = full_pools(1)
    devices.rule(raw_rule("r", {}))
    assert devices.held("p0") == [BY_RULE]
    devices.slice(raw_slice("n0", "gpu-1", generation=2, name="newer"))
    assert devices.held("p0") == []
    devices.slice(None, "newer")
    assert devices.held("p0") == [BY_RULE]
    assert devices.slice(None, f"n0-{DRIVER}") == {(DRIVER, "n0")}
    assert devices.held("p0") == []
    assert (devices.index.population(DRIVER), dict(devices.index.turned_bad(DRIVER))) == (0, {})


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "example.com/health", "operator": "Exists"}, True),
        ({"key": "example.com/health", "operator": "Equal", "value": "bad"}, True),
        ({"key": "example.com/health", "value": "bad", "effect": "NoExecute"}, True),
        ({"key": "example.com/health", "operator": "Exists", "tolerationSeconds": 5}, True),
        ({"key": "example.com/health", "operator": "Equal", "value": "worse"}, False),
        ({"key": "example.com/health", "operator": "Exists", "effect": "NoSchedule"}, False),
        ({"key": "example.com/other", "operator": "Exists"}, False),
    ],
)
def test_the_tolerations_of_the_allocation_count(toleration: JsonObject, tolerated: bool) -> None:
    devices = full_pools(1)
    devices.claim(raw_claim("c0", "n0", "gpu-0", pod="p0", uid="p0", tolerations=[toleration]))
    devices.rule(raw_rule("r", {}))
    assert devices.held("p0") == [BY_RULE + (" (tolerated)" if tolerated else "")]


def test_the_devices_of_an_ended_pod_are_remembered_until_it_is_gone() -> None:
    devices = full_pools(2)
    devices.rule(raw_rule("r", {}))
    devices.pods.discard("p1")  # gone before its claim
    for each in ("0", "1"):
        devices.claim(raw_claim(f"c{each}", f"n{each}", "gpu-0"))
    assert (devices.held("p0"), devices.held("p1")) == ([BY_RULE], [])
    devices.index.forget("p0")
    assert devices.held("p0") == []


def test_a_device_counts_though_the_pod_still_has_another_claim() -> None:
    devices = full_pools(1)
    devices.claim(raw_claim("network", "n0", "gpu-1", pod="p0", uid="p0"))
    devices.slice(raw_slice("n0", "gpu-0", "gpu-1", taints={"gpu-0": BAD}))
    before = devices.held("p0")
    assert len(before) == 1
    devices.claim(raw_claim("c0", "n0", "gpu-0"))
    assert devices.held("p0") == before


def test_nothing_is_held_before_all_devices_are_known() -> None:
    devices = full_pools(2, known=False)
    devices.rule(raw_rule("r", {}))
    assert (devices.held("p0"), devices.index.held("p0")) == ([], ())
    devices.index.known = True
    assert devices.held("p0") == [BY_RULE]


def test_after_a_clock_is_set_back_no_time_is_in_the_future() -> None:
    devices = full_pools(1)
    devices.now = LATER
    devices.rule(raw_rule("r", {}))
    devices.slice(raw_slice("n0", "gpu-0", taints={"gpu-0": BAD}))
    devices.index.limit_times(START)
    assert dict(devices.index.turned_bad(DRIVER)) == {"n0": START}
    assert {each.since for each in devices.index.held("p0")} == {START}


def test_claims_of_other_consumers_and_without_allocation_are_of_no_pod() -> None:
    devices = Devices()
    devices.slice(raw_slice("n0", "gpu-0"))
    devices.rule(raw_rule("r", {}))
    claim = raw_claim("c0", "n0", "gpu-0")
    group = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "p0"}
    claim["status"]["reservedFor"] = [group]
    devices.claim(claim)
    waiting = raw_claim("c1", "n0", pod="p1", uid="p1")
    del waiting["status"]["allocation"]
    devices.claim(waiting)
    assert (devices.held("p0"), devices.held("p1")) == ([], [])
