"""Builds nodes as the API server shows them, and as the controller remembers them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from controller.facts.nodes import Node, NodeProjection
from controller.fleet.node_index import NodeIndex
from shared.api.times import format_time
from shared.config.fault_tolerance import Autopilot, NodeHealth
from shared.injection.avoided_hosts import LABEL_HOSTNAME
from shared.kube.object_cache import Change
from tests.support.builders.autopilot import GPU, HEALTH

TAINTS = Autopilot().resource_taints
PROJECTION = NodeProjection([HEALTH, LABEL_HOSTNAME], [GPU])


def raw_node(name: str, label: str = "", **changes: Any) -> dict[str, Any]:
    """Builds a node of 8 GPUs; `label` is Autopilot's value, `cleared` an admin's annotation.

    `silent`: since when its condition Ready is Unknown.
    """
    metadata: dict[str, Any] = {"name": name, "uid": f"uid-{name}", "resourceVersion": "7"}
    if cleared := changes.get("cleared"):
        metadata["annotations"] = {"workload.codeflare.dev/latch-cleared": cleared}
    labels = {"kubernetes.io/hostname": changes.get("hostname", name)} | (
        {HEALTH: label} if label else {}
    )
    amounts = {"cpu": "80", GPU: "8"}
    return {
        "metadata": {**metadata, "labels": labels} | {"uid": changes.get("uid", f"uid-{name}")},
        "spec": changes.get("spec", {}),
        "status": {
            "capacity": changes.get("capacity", amounts),
            "allocatable": changes.get("allocatable", amounts),
            "conditions": [_ready(changes.get("silent"))],
        },
    }


def _ready(silent: datetime | None) -> dict[str, Any]:
    status = "True" if silent is None else "Unknown"
    return {
        "type": "Ready",
        "status": status,
        "lastTransitionTime": format_time(silent or datetime(2026, 1, 1, tzinfo=UTC)),
    }


def node(name: str, label: str = "", **changes: Any) -> Node:
    """Builds the same node, projected."""
    return PROJECTION.project(raw_node(name, label, **changes))


def change(old: Node | None, new: Node | None) -> Change[Node]:
    """Builds an informer's change."""
    known = new or old
    assert known is not None
    return Change(("", known.name), old, new)


def unschedulable(nodes: NodeIndex) -> Decimal:
    """Returns how many GPUs no new pod can get. Both of the index's sums must agree."""
    by_reason = nodes.unschedulable_by_reason().items()
    lost = sum((amount for (name, _), amount in by_reason if name == GPU), Decimal(0))
    assert lost == sum(withheld.get(GPU, 0) for _, withheld in nodes.shares())
    return lost


def index(now: datetime, **labels: str) -> NodeIndex:
    """Builds an index of nodes with these names (`_` means `-`) and values of Autopilot's label."""
    return latching_index(now, timedelta(0), **labels)


def latching_index(now: datetime, latch: timedelta, **labels: str) -> NodeIndex:
    """Builds the same index; nodes stay NoExecute for that long."""
    made = NodeIndex(TAINTS, NodeHealth(latch=latch))
    for name, label in labels.items():
        made.update(change(None, node(name.replace("_", "-"), label)), now)
    return made
