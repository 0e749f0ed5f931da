"""Why pods do not start, in the message of PodsReady: the scheduler's and the kubelet's reasons."""

from decimal import Decimal
from typing import Any

import pytest

from controller.facts.pod_names import name_ignored_by_scheduler, name_rejected, too_large
from controller.facts.pods import is_only_placed, project_pod
from controller.facts.scheduling import ignored_by_scheduler, scheduler_message
from tests.support.builders.remembered_pods import pod

GPUS = "8 Insufficient nvidia.com/gpu"


def rejected(message: str, reason: str = "Unschedulable", status: str = "False") -> dict[str, Any]:
    condition = {"type": "PodScheduled", "status": status, "reason": reason, "message": message}
    return {"conditions": [condition]}


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({}, ""),
        ({"conditions": None}, ""),
        (rejected("", status="True"), ""),
        (rejected("waits", "SchedulingGated"), ""),
        (rejected(f"0/8 nodes are available: {GPUS}."), GPUS),
        (
            rejected(
                f"0/8 nodes are available: {GPUS}. preemption: 0/8 nodes are available: 8 No "
                "preemption victims found for incoming pod."
            ),
            GPUS,
        ),
        (rejected("no nodes available to schedule pods"), "no nodes available to schedule pods"),
        (rejected(""), "the scheduler finds no node"),
        (rejected("binding volumes: timed out", "SchedulerError"), "binding volumes: timed out"),
        (
            rejected("rejected due to timeout after waiting 60s at plugin Coscheduling"),
            "rejected due to timeout after waiting 60s at plugin Coscheduling",
        ),
        (rejected("red \x1b[31m\nand\u202eblue"), "red ?[31m and?blue"),
        (rejected("x" * 1000), "x" * 200 + "…"),
    ],
)
def test_the_scheduler_is_quoted(status: dict[str, Any], text: str) -> None:
    assert scheduler_message(status) == text


def test_pods_with_one_reason_are_counted_together() -> None:
    waiting = [pod(name, "Pending", unscheduled=GPUS) for name in ("train-2", "train-0", "train-1")]
    image = pod("train-3", "Pending", node="gpu-1", cause="ErrImagePull")
    assert name_rejected([]) == ""
    assert name_rejected([pod("a", "Pending"), pod("b", "Pending", node="n")]) == ""
    assert name_rejected(waiting[:1]) == f"train-2: {GPUS}"
    assert name_rejected([image, *waiting]) == f"train-0 and 2 more: {GPUS}; train-3: ErrImagePull"


def test_three_of_many_reasons_are_quoted() -> None:
    waiting = [pod(f"p{each}", "Pending", unscheduled=f"reason {each}") for each in range(5)]
    assert name_rejected(waiting) == "p0: reason 0; p1: reason 1; p2: reason 2"


def test_a_request_that_no_node_can_hold_is_named() -> None:
    gpus = {"nvidia.com/gpu": Decimal(8)}
    asks = (("nvidia.com/gpu", Decimal(16)), ("rdma/ib", Decimal(1)))
    waiting = [pod(name, "Pending", unscheduled=GPUS, requests=asks) for name in ("b", "a")]
    assert too_large(waiting, gpus) == (
        "a requests 16 nvidia.com/gpu, and no node of the cluster has more than 8"
    )
    assert too_large(waiting, {"nvidia.com/gpu": Decimal(16)}) == ""
    assert too_large(waiting, {}) == "", "nodes are not watched"
    assert too_large([pod("a", "Pending")], gpus) == ""


@pytest.mark.parametrize(
    ("name", "amount", "largest", "message"),
    [
        ("cpu", "0.5", {"cpu": "0.25"}, "a requests 0.5 cpu, and no node of the cluster has more"),
        ("memory", "1099511627776", {"memory": "536870912000"}, "a requests 1Ti memory, and no"),
        # Nobody has it now, which the scheduler knows as well.
        ("nvidia.com/gpu", "8", {"cpu": "64"}, "a requests 8 nvidia.com/gpu, and no node of the"),
        # A DeviceClass may give it, which no node shows, and the scheduler says something else.
        ("example.com/npu", "8", {"cpu": "64"}, ""),
        ("cpu", "64", {"cpu": "64"}, ""),
    ],
)
def test_any_resource_may_be_too_much(
    name: str, amount: str, largest: dict[str, str], message: str
) -> None:
    most = {each: Decimal(value) for each, value in largest.items()}
    waiting = [pod("a", "Pending", unscheduled=GPUS, requests=((name, Decimal(amount)),))]
    assert too_large(waiting, most).startswith(message)
    assert bool(too_large(waiting, most)) is bool(message)


@pytest.mark.parametrize(
    ("spec", "status", "why"),
    [
        ({}, {}, "scheduler default-scheduler has not reported on it"),
        ({"schedulerName": "mine"}, {}, "scheduler mine has not reported on it"),
        ({"nodeName": "n"}, {}, ""),
        ({}, rejected("no room"), ""),
        (
            {"schedulingGates": [{"name": "kueue.x-k8s.io/topology"}]},
            rejected("waits", "SchedulingGated"),
            "scheduling gate kueue.x-k8s.io/topology",
        ),
        (
            {"schedulingGates": [{"name": "c"}, {"name": "a"}, {"name": "b"}, {"name": "d"}]},
            {},
            "scheduling gates a, b and c",
        ),
    ],
)
def test_why_no_scheduler_has_reported(spec: Any, status: Any, why: str) -> None:
    assert ignored_by_scheduler(spec, status) == why


def test_pods_that_wait_for_a_scheduler_are_counted_together() -> None:
    gated = [pod(name, "Pending", ignored_by_scheduler="scheduling gate g") for name in ("b", "a")]
    assert (
        name_ignored_by_scheduler([*gated, pod("c", "Pending")])
        == "a and 1 more: scheduling gate g"
    )
    metadata = {"namespace": "n", "name": "a", "uid": "u"}
    assert project_pod({"metadata": metadata}).ignored_by_scheduler == (
        "scheduler default-scheduler has not reported on it"
    )
    assert (
        project_pod({"metadata": metadata, "status": {"phase": "Failed"}}).ignored_by_scheduler
        == ""
    )


def test_requests_are_remembered_only_of_a_pod_that_the_scheduler_rejects() -> None:
    limits = {"nvidia.com/gpu": "16", "cpu": "1"}
    item = {
        "metadata": {"namespace": "n", "name": "a", "uid": "u"},
        "spec": {"containers": [{"name": "c", "resources": {"limits": limits}}]},
        "status": rejected(f"0/8 nodes are available: {GPUS}."),
    }
    known = project_pod(item)
    asked = {"nvidia.com/gpu": Decimal(16), "cpu": Decimal(1)}
    assert (known.unscheduled, dict(known.requests)) == (GPUS, asked)
    assert project_pod({**item, "status": {}}).requests == ()


def test_a_pod_that_is_scheduled_late_wakes_no_appwrapper() -> None:
    old = pod("a", "Pending", unscheduled=GPUS)
    assert is_only_placed(old, pod("a", "Pending", node="n", bound="2026-01-01T00:00:00Z"))
    assert not is_only_placed(pod("a", "Pending"), old)
    gated = pod("a", "Pending", ignored_by_scheduler="scheduling gate g")
    assert is_only_placed(gated, pod("a", "Pending")), "thousands may lose their gates at once"
    assert not is_only_placed(gated, old)
    assert not is_only_placed(gated, gated)
