"""Which pods a taint of their device drives off, and what is said of it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.facts.devices import DELETED_BY_TAINT, nothing_held
from controller.facts.evacuation import UNWATCHED_NODES, find_evacuation
from controller.facts.pod_counts import Membership
from controller.facts.pods import Pod
from controller.phases.root_cause import RootCause
from controller.phases.snapshot import Component, Evacuation, Presence
from shared.api.conditions import Terminal
from shared.api.times import format_time
from tests.support.builders import nodes as node_builders
from tests.support.builders import remembered_pods as pod_builders
from tests.support.builders.autopilot import GPU
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

DEVICE = f"{DRIVER}/n0/gpu-0"
MESSAGE = f"node n0 ({BAD_WORDS} of DeviceTaintRule r): pod p0 uses device {DEVICE}"
JOB = Component(name="train", kind="Job", presence=Presence.PRESENT, expected_pods=2)


def pod(number: int = 0, phase: str = "Running", **changes: Any) -> Pod:
    """Its UID is its name; bound an hour before anybody knew of a taint."""
    name = f"p{number}"
    bound = format_time(START - timedelta(hours=1))
    fields = {"uid": name, "node": f"n{number}", "resources": ("cpu",), "bound": bound}
    return pod_builders.pod(name, phase, **{**fields, **changes})


def membership(job: Component = JOB) -> Membership:
    (own,) = pod_builders.with_uids((job,), "job")
    return Membership(appwrapper_uid="u1", attempt=1, components=(own,))


def everything_tainted(taint: dict[str, str] = BAD) -> Devices:
    devices = full_pools(2)
    devices.rule(raw_rule("r", {}, taint))
    return devices


def found(*pods: Pod, devices: Devices | None = None, job: Component = JOB) -> Evacuation | None:
    held = (devices or everything_tainted()).index.taints()
    return find_evacuation(pods, membership(job), UNWATCHED_NODES, held)


def test_a_running_pod_that_holds_the_device_must_go() -> None:
    assert found(pod()) == Evacuation(
        MESSAGE,
        resources=frozenset({DRIVER}),
        since=START,
        root_cause=RootCause(
            pod="p0",
            pod_uid="p0",
            node="n0",
            time=START,
            code="DeviceTainted",
            infrastructure="DeviceTainted",
            message=MESSAGE,
        ),
    )


def test_the_taint_of_a_driver_names_no_rule() -> None:
    devices = full_pools(2)
    devices.slice(raw_slice("n0", "gpu-0", "gpu-1", taints={"gpu-0": BAD}))
    evacuation = found(pod(0), pod(1), devices=devices)
    assert evacuation is not None
    assert evacuation.message == f"node n0 ({BAD_WORDS}): pod p0 uses device {DEVICE}"


def test_all_devices_count_and_few_are_named() -> None:
    devices = full_pools(5)
    devices.rule(raw_rule("r", {}))
    evacuation = found(*map(pod, range(5)), devices=devices)
    assert evacuation is not None
    assert evacuation.message.endswith("; and 2 more")
    assert evacuation.root_cause is not None
    assert (evacuation.root_cause.pod, evacuation.root_cause.failed_pods) == ("p0", 5)


@pytest.mark.parametrize(
    "stays",
    [
        pod(7),
        pod(0, "Pending"),
        pod(0, "Succeeded"),
        pod(0, "Failed"),
        pod(0, deleting=True),
        pod(0, deleting=True, cause="EvictionByEvictionAPI"),
    ],
)
def test_any_other_pod_stays(stays: Pod) -> None:
    assert found(stays) is None


@pytest.mark.parametrize("effect", ["NoSchedule", "None", "Whatever"])
def test_other_effects_do_nothing_to_running_pods(effect: str) -> None:
    assert found(pod(), devices=everything_tainted({**BAD, "effect": effect})) is None


def test_a_tolerated_taint_does_not_count() -> None:
    devices = everything_tainted()
    tolerations = [{"key": BAD["key"], "operator": "Exists", "tolerationSeconds": 30}]
    devices.claim(raw_claim("c0", "n0", "gpu-0", pod="p0", uid="p0", tolerations=tolerations))
    assert found(pod(), devices=devices) is None
    # Kubernetes deletes the pod when the time of the toleration is over.
    over = pod(deleting=True, cause=DELETED_BY_TAINT)
    evacuation = found(over, devices=devices)
    assert evacuation is not None
    assert evacuation.message == MESSAGE


def test_a_pod_that_kubernetes_deletes_for_the_taint_still_counts() -> None:
    evacuation = found(pod(deleting=True, cause=DELETED_BY_TAINT))
    assert evacuation is not None
    assert evacuation.message == MESSAGE


def test_a_pod_that_failed_for_the_taint_counts_until_it_is_replaced() -> None:
    failed = pod(0, "Failed", cause=DELETED_BY_TAINT, owner_uid="job", component=0)
    devices = everything_tainted()
    devices.claim(None, "c0")
    evacuation = found(failed, devices=devices)
    assert evacuation is not None
    assert evacuation.message == MESSAGE
    devices.rule(raw_rule("r", {"pool": "n0"}))
    sound = [pod(each, owner_uid="job", component=0) for each in (5, 6)]
    assert found(failed, *sound, devices=devices) is None


def test_pods_of_a_component_that_ended_well_do_not_count() -> None:
    ended = replace(JOB, terminal=Terminal.SUCCEEDED)
    assert found(pod(component=0), job=ended) is None
    deleted = pod(component=0, deleting=True, cause=DELETED_BY_TAINT)
    assert found(deleted, job=ended) is None


@pytest.mark.parametrize(("seconds", "spends_retry"), [(4, False), (5, True)])
def test_a_retry_is_spent_if_the_taint_was_there_before(seconds: int, spends_retry: bool) -> None:
    bound = format_time(START + timedelta(seconds=seconds))
    evacuation = found(pod(bound=bound))
    assert evacuation is not None
    assert evacuation.spends_retry is spends_retry


def test_beside_a_label_the_node_is_the_reason() -> None:
    tagged = node_builders.index(START, n0="EVICT")
    held = everything_tainted().index.taints()
    both = find_evacuation([pod(resources=(GPU,))], membership(), tagged.tags, held)
    assert both is not None
    assert (both.resources, both.root_cause) == (frozenset({DRIVER, GPU}), None)
    assert (
        both.message == f"{MESSAGE}; node n0 (autopilot.ibm.com/gpuhealth=EVICT): pod p0 uses {GPU}"
    )


def test_without_taints_nothing_is_driven_off() -> None:
    assert find_evacuation([pod()], membership(), UNWATCHED_NODES, nothing_held) is None
