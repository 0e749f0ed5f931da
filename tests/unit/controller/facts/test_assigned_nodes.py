"""Which nodes Kueue assigned, and which of them take no pods."""

from typing import Any

import pytest

from controller.facts.assigned_nodes import (
    assignment_of,
    misplacement,
    topology_workload,
)
from controller.phases.snapshot import Misplacement
from shared.config.fault_tolerance import Autopilot
from tests.support.builders.autopilot import GPU, HEALTH
from tests.support.builders.nodes import raw_node

TAINTS = Autopilot().resource_taints
HOST = "kubernetes.io/hostname"
CORDONED = {"unschedulable": True}
GATED = {
    "annotations": {"kueue.x-k8s.io/workload": "appwrapper-train"},
    "schedulingGates": [{"name": "kueue.x-k8s.io/topology"}],
}


def pod_spec(gpus: int = 8, **changes: Any) -> dict[str, Any]:
    requests = {"cpu": "1", GPU: str(gpus)} if gpus else {"cpu": "1"}
    return {"containers": [{"name": "main", "resources": {"requests": requests}}], **changes}


def assigned(*hosts: str) -> dict[str, Any]:
    """All of them in one slice, as Kueue writes them."""
    levels = ["rack", HOST]
    value = {"individual": {"prefix": "n", "roots": [each.removeprefix("n") for each in hosts]}}
    part = {"valuesPerLevel": [{"universal": "rack-1"}, value], "podCounts": {"universal": 1}}
    return {"levels": levels, "slices": [part]}


def workload(*pod_sets: tuple[dict[str, Any], dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """Of each pod set its spec and its topologyAssignment."""
    names = [f"train-{number}" for number in range(len(pod_sets))]
    status = {
        "conditions": [{"type": "Admitted", "status": "True"}],
        "admission": {
            "podSetAssignments": [
                {"name": name, "topologyAssignment": place}
                for name, (_, place) in zip(names, pod_sets, strict=True)
            ]
        },
    }
    owner = {"kind": "AppWrapper", "name": "train", "uid": "u1", "controller": True}
    return {
        "metadata": {
            "name": "appwrapper-train",
            "uid": "w1",
            "resourceVersion": "7",
            "ownerReferences": [owner],
        },
        "spec": {
            "podSets": [
                {"name": name, "template": {"spec": spec}}
                for name, (spec, _) in zip(names, pod_sets, strict=True)
            ]
        },
        "status": status | changes,
    }


def found(
    item: dict[str, Any], *nodes: dict[str, Any], taints: Any = TAINTS
) -> Misplacement | None:
    assignment = assignment_of([item], "u1", "appwrapper-train")
    assert assignment is not None
    return misplacement(assignment, nodes, taints)


def bad(message: str, *, evicted: bool = False) -> Misplacement:
    return Misplacement(message, "appwrapper-train", "w1", "7", evicted)


PAIR = workload((pod_spec(), assigned("n1", "n2")))
ONE = workload((pod_spec(), assigned("n1")))


def test_hosts_are_read_in_every_form_that_kueue_writes() -> None:
    two = {"universal": 2}
    one = {
        "levels": [HOST],
        "slices": [{"valuesPerLevel": [{"universal": "n1"}], "podCounts": two}],
    }
    many = {
        "levels": ["rack", HOST],
        "slices": [
            {
                "valuesPerLevel": [{}, {"individual": {"suffix": ".x", "roots": ["a", "b"]}}],
                "podCounts": {"individual": [1, 3]},
            },
            {"valuesPerLevel": [{}, {"individual": {"roots": ["n9"]}}], "podCounts": two},
        ],
    }
    assignment = assignment_of(
        [workload((pod_spec(), one), (pod_spec(0), many))], "u1", "appwrapper-train"
    )
    assert assignment is not None
    assert assignment.hosts == ["a.x", "b.x", "n1", "n9"]
    assert [each.hosts for each in assignment.pod_sets] == [
        {"n1": 2},
        {"a.x": 1, "b.x": 3, "n9": 2},
    ]


def test_racks_are_no_hosts() -> None:
    rack = {"levels": ["block", "rack"], "slices": [{"valuesPerLevel": [{}, {"universal": "n1"}]}]}
    assert found(workload((pod_spec(), rack)), raw_node("n1", "EVICT")) is None


@pytest.mark.parametrize("label", ["EVICT", "ERR", "TESTING"])
def test_a_label_that_keeps_its_pods_off_is_named(label: str) -> None:
    problem = f"its pods are assigned to node n1 ({HEALTH}={label})"
    assert found(PAIR, raw_node("n1", label), raw_node("n2")) == bad(problem)


def test_so_is_a_cordon() -> None:
    problem = "its pods are assigned to node n2 (cordoned)"
    assert found(PAIR, raw_node("n1"), raw_node("n2", spec=CORDONED)) == bad(problem)


def test_three_of_many_are_named() -> None:
    hosts = [f"n{number}" for number in range(1, 6)]
    item = workload((pod_spec(), assigned(*hosts)))
    assert found(item, *(raw_node(each, "EVICT") for each in hosts)) == bad(
        f"its pods are assigned to nodes n1 ({HEALTH}=EVICT), n2 ({HEALTH}=EVICT), "
        f"n3 ({HEALTH}=EVICT) and 2 more"
    )


SILENT = {"taints": [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]}


def test_so_are_nodes_that_are_out_of_reach_or_gone() -> None:
    """Whether Kueue sees to them depends on its version, and on how their pods ended."""
    problem = "its pods are assigned to nodes n1 (NotReady or unreachable), n2 (gone)"
    assert found(PAIR, raw_node("n1", spec=SILENT)) == bad(problem)


def test_so_are_nodes_that_have_less_than_was_assigned() -> None:
    """Devices fail; and Kueue 0.16.1 puts the pods of a failed node on one that is full."""
    problem = "its pods are assigned to node n1 (has 7 nvidia.com/gpu, assigned 8)"
    assert found(ONE, raw_node("n1", allocatable={"cpu": "80", GPU: "7"})) == bad(problem)
    twice = assigned("n1")
    twice["slices"][0]["podCounts"] = {"universal": 2}
    problem = "its pods are assigned to node n1 (has 8 nvidia.com/gpu, assigned 16)"
    assert found(workload((pod_spec(), twice)), raw_node("n1")) == bad(problem)
    both = workload((pod_spec(4), assigned("n1")), (pod_spec(4), assigned("n1")))
    assert found(both, raw_node("n1")) is None


@pytest.mark.parametrize(
    ("item", "node", "taints"),
    [
        (ONE, raw_node("n1"), TAINTS),
        (ONE, raw_node("n1", "WARN"), TAINTS),
        (ONE, raw_node("n1", "EVICT"), {GPU: ()}),  # no anti-affinity keeps them off
        (workload((pod_spec(0), assigned("n1"))), raw_node("n1", "EVICT"), TAINTS),
    ],
)
def test_nodes_that_take_its_pods_are_left_alone(
    item: dict[str, Any], node: dict[str, Any], taints: Any
) -> None:
    assert found(item, node, taints=taints) is None


@pytest.mark.parametrize(
    ("toleration", "takes"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "other", "operator": "Exists"}, False),
    ],
)
def test_pods_that_tolerate_a_cordon_can_go_there(toleration: dict[str, str], takes: bool) -> None:
    item = workload((pod_spec(tolerations=[toleration]), assigned("n1")))
    assert (found(item, raw_node("n1", spec=CORDONED)) is None) is takes


def test_each_pod_set_is_compared_with_its_own_nodes() -> None:
    item = workload((pod_spec(0), assigned("n1")), (pod_spec(), assigned("n2")))
    assert found(item, raw_node("n1", "EVICT"), raw_node("n2")) is None


def test_a_host_name_need_not_be_the_nodes_name() -> None:
    node = raw_node("machine-7", "EVICT")
    node["metadata"]["labels"][HOST] = "n1"
    assert found(ONE, node) == bad(f"its pods are assigned to node machine-7 ({HEALTH}=EVICT)")


ADMITTED = {"type": "Admitted", "status": "True"}


@pytest.mark.parametrize(
    "changes",
    [
        {"conditions": [ADMITTED, {"type": "Evicted", "status": "True"}]},
        {"unhealthyNodes": [{"name": "n1"}]},
    ],
)
def test_an_eviction_under_way_is_observed(changes: dict[str, Any]) -> None:
    item = workload((pod_spec(), assigned("n1")), **changes)
    problem = f"its pods are assigned to node n1 ({HEALTH}=EVICT)"
    assert found(item, raw_node("n1", "EVICT")) == bad(problem, evicted=True)


@pytest.mark.parametrize(
    "changes",
    [
        {"conditions": []},
        {"conditions": [{"type": "Admitted", "status": "False"}]},
        {"conditions": [ADMITTED, {"type": "Finished", "status": "True"}]},
    ],
)
def test_a_workload_that_is_not_admitted_is_not_evicted(changes: dict[str, Any]) -> None:
    item = workload((pod_spec(), assigned("n1")), **changes)
    assert assignment_of([item], "u1", "appwrapper-train") is None


def test_only_its_own_workload_counts() -> None:
    assert assignment_of([PAIR], "another", "appwrapper-train") is None
    assert assignment_of([PAIR], "u1", "another") is None
    assert assignment_of([], "u1", "appwrapper-train") is None


# What is kept of a component.


def component(*infos: Any, **spec: Any) -> dict[str, Any]:
    template = {"spec": pod_spec(**spec)}
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template}}
    return {"template": job, "podSetInfos": list(infos)}


def test_the_workload_of_a_topology() -> None:
    assert topology_workload(component({}, GATED)) == "appwrapper-train"
    annotated = {"annotations": GATED["annotations"]}
    for each in (component(), component({}), component(annotated)):
        assert topology_workload(each) == ""
