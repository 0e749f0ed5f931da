"""Builds ClusterQueues, ResourceFlavors and nodes for the slack queue's keeper."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from controller.facts.nodes import Node, NodeProjection
from controller.fleet.node_index import NodeIndex
from controller.slack.quota import (
    NodeFlavor,
    SlackQuota,
    StoredQuota,
    node_flavor,
    schedulable,
    slack_quotas,
    stored_queue,
)
from shared.api.objects import JsonObject
from tests.support.builders.autopilot import GPU
from tests.support.builders.nodes import TAINTS, change, raw_node
from tests.support.fakes.fake_clock import START

SLACK = "slack-cluster-queue"
FLAVOR = "default-flavor"
KUEUE = "kueue.x-k8s.io"


def raw_queue(
    name: str,
    *groups: Mapping[str, Mapping[str, Any]],
    version: int = 5,
    cohort: str = "default-cohort",
    manager: str = "kubectl",
    uid: str = "",
) -> JsonObject:
    """Builds a ClusterQueue. A group is flavor → resource → nominalQuota, or its whole entry."""
    return {
        "apiVersion": f"{KUEUE}/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {
            "name": name,
            "uid": uid or f"uid-{name}",
            "resourceVersion": str(version),
            "managedFields": [
                {"manager": manager, "fieldsV1": {"f:spec": {"f:resourceGroups": {}}}},
                {"manager": "kueue", "subresource": "status", "fieldsV1": {"f:status": {}}},
            ],
        },
        "spec": ({"cohortName": cohort} if cohort else {})
        | {"resourceGroups": [_group(each) for each in groups]},
    }


def _group(flavors: Mapping[str, Mapping[str, Any]]) -> JsonObject:
    return {
        "coveredResources": list(next(iter(flavors.values()))),
        "flavors": [
            {
                "name": flavor,
                "resources": [
                    {"name": name} | (given if isinstance(given, dict) else {"nominalQuota": given})
                    for name, given in resources.items()
                ],
            }
            for flavor, resources in flavors.items()
        ],
    }


def gpu_queue(name: str, nominal: int, limit: str | None = None, **more: Any) -> JsonObject:
    """Builds a queue of GPUs in the default flavor only."""
    quota: JsonObject = {"nominalQuota": nominal}
    if limit is not None:
        quota["lendingLimit"] = limit
    return raw_queue(name, {FLAVOR: {GPU: quota}}, **more)


def raw_flavor(name: str = FLAVOR, labels: Mapping[str, str] | None = None) -> JsonObject:
    """Builds a ResourceFlavor of the nodes with these labels."""
    return {
        "apiVersion": f"{KUEUE}/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "5"},
        "spec": {"nodeLabels": dict(labels)} if labels else {},
    }


def flavor(name: str = FLAVOR, **labels: str) -> NodeFlavor:
    """Builds the same flavor, projected."""
    return node_flavor(raw_flavor(name, labels))


def labelled_node(name: str, label: str = "", **changes: Any) -> Node:
    """Builds a node of 8 GPUs. `labels` are more labels, beside Autopilot's value `label`."""
    raw = raw_node(name, label, **changes)
    raw["metadata"]["labels"] |= changes.get("labels", {})
    return NodeProjection().project(raw)


def index_of(nodes: Iterable[Node]) -> NodeIndex:
    """Builds an index of these nodes."""
    made = NodeIndex(TAINTS)
    for each in nodes:
        made.update(change(None, each), START)
    return made


def rows_of(
    queues: Iterable[JsonObject],
    nodes: Iterable[Node],
    flavors: Iterable[NodeFlavor] = (flavor(),),
) -> tuple[SlackQuota, ...]:
    """Computes the rows of these queues and nodes."""
    stored = {queue.name: queue for queue in map(stored_queue, queues)}
    free = schedulable(index_of(nodes).shares(), flavors)
    return slack_quotas(stored[SLACK], stored.values(), free)


def row(
    headroom: int, *, nominal: int = 8, limit: int | None = None, resource: str = GPU
) -> SlackQuota:
    """Builds one row with 16 promised."""
    stored = StoredQuota(
        (FLAVOR, resource),
        Decimal(nominal),
        None if limit is None else Decimal(limit),
        "/spec/resourceGroups/0/flavors/0/resources/0",
        Decimal(nominal),
    )
    return SlackQuota(stored, Decimal(16 + headroom), Decimal(16))
