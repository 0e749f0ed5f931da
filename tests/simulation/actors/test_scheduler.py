"""The scheduler: room, taints, affinities, gates, and the words for a pod without a node."""

from typing import Any

import pytest

from shared.api.conditions import condition
from shared.api.names import LABEL_UID
from shared.api.objects import NODES, PODS, JsonObject
from shared.injection.avoided_hosts import LABEL_HOSTNAME
from tests.simulation.actors.scheduler import Scheduler
from tests.simulation.actors.small_cluster import TEAM, SmallCluster
from tests.support.builders.autopilot import BAD, GPU, HEALTH, REQUIRED

SELECTOR = "node(s) didn't match Pod's node affinity/selector"


def pod(name: str = "p", gpus: int = 0, **spec: Any) -> JsonObject:
    resources = {"limits": {GPU: str(gpus)}} if gpus else {}
    containers = [{"name": "main", "resources": resources}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def required(*expressions: JsonObject) -> JsonObject:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {REQUIRED: terms}}


def scheduled(*pods: JsonObject, nodes: int = 1) -> SmallCluster:
    cluster = SmallCluster(nodes)
    Scheduler(cluster)
    for each in pods:
        cluster.create(PODS, each)
    cluster.advance(1)
    return cluster


def causes_of_binding(cluster: SmallCluster) -> list[str]:
    """Bind a pod of the AppWrapper u1; return its causes."""
    Scheduler(cluster)
    of_one = pod()
    of_one["metadata"]["labels"] = {LABEL_UID: "u1"}
    cluster.create(PODS, of_one)
    cluster.advance(1)
    return cluster.causes.of("u1")


def places(cluster: SmallCluster) -> list[str]:
    """Return each pod's node, or the scheduler's message."""
    found = []
    for each in cluster.pods():
        pod_scheduled = condition(each["status"].get("conditions") or (), "PodScheduled") or {}
        found.append(each["spec"].get("nodeName") or pod_scheduled.get("message", ""))
    return found


def change_node(cluster: SmallCluster, name: str, change: Any) -> None:
    cluster.store.change(NODES, None, name, change)


def test_pods_spread_over_nodes() -> None:
    assert places(scheduled(pod("a"), pod("b"), nodes=2)) == ["n1", "n2"]


def test_a_pod_that_is_bound_to_a_silent_node_is_a_cause() -> None:
    cluster = SmallCluster(1)
    cluster.silent_nodes.add("n1")
    assert causes_of_binding(cluster) == ["pod p: bound to the silent node n1"]


def test_a_pod_without_room_waits_until_another_has_ended() -> None:
    cluster = scheduled(pod("a", 8), pod("b", 1))
    assert places(cluster) == ["n1", f"0/1 nodes are available: 1 Insufficient {GPU}."]
    cluster.change_pod("a", phase="Succeeded")
    cluster.advance(1)
    assert places(cluster) == ["n1", "n1"]


@pytest.mark.parametrize(
    ("refused", "why"),
    [
        (lambda node: node["spec"].update(unschedulable=True), "node(s) were unschedulable"),
        (
            lambda node: node["spec"].update(taints=[{"key": "x", "effect": "NoSchedule"}]),
            "node(s) had untolerated taint(s)",
        ),
        (lambda node: node["metadata"]["labels"].update({HEALTH: "EVICT"}), SELECTOR),
    ],
)
def test_a_node_is_refused_with_the_schedulers_words(refused: Any, why: str) -> None:
    cluster = SmallCluster()
    change_node(cluster, "n1", refused)
    Scheduler(cluster)
    cluster.create(PODS, pod(affinity=required(BAD)))
    cluster.advance(1)
    assert places(cluster) == [f"0/1 nodes are available: 1 {why}."]


def test_a_pod_keeps_off_forbidden_hosts() -> None:
    off = {"key": LABEL_HOSTNAME, "operator": "NotIn", "values": ["n1"]}
    assert places(scheduled(pod(affinity=required(off)), nodes=2)) == ["n2"]


def test_a_toleration_lets_a_pod_onto_a_tainted_node() -> None:
    cluster = SmallCluster()
    taint = {"key": "x", "value": "y", "effect": "NoExecute"}
    change_node(cluster, "n1", lambda node: node["spec"].update(taints=[taint]))
    Scheduler(cluster)
    for name, toleration in (
        ("a", {"operator": "Exists"}),
        ("b", {"key": "x", "value": "y"}),
        ("c", {"key": "x", "value": "z"}),
        ("d", {"key": "x", "operator": "Exists", "effect": "NoSchedule"}),
    ):
        cluster.create(PODS, pod(name, tolerations=[toleration]))
    cluster.advance(1)
    refused = "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
    assert places(cluster) == ["n1", "n1", refused, refused]


def test_a_gated_pod_waits_without_a_message() -> None:
    cluster = scheduled(pod(schedulingGates=[{"name": "kueue.x-k8s.io/topology"}]))
    assert places(cluster) == [""]
    cluster.store.change(PODS, TEAM, "p", lambda item: item["spec"].pop("schedulingGates"))
    cluster.advance(1)
    assert places(cluster) == ["n1"]


def test_a_pod_that_is_being_deleted_keeps_its_room() -> None:
    cluster = scheduled(pod("a", 8))
    cluster.store.delete(PODS, TEAM, "a")
    cluster.create(PODS, pod("b", 1))
    cluster.advance(1)
    assert places(cluster) == ["n1", f"0/1 nodes are available: 1 Insufficient {GPU}."]
