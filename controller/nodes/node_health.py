"""What a node's labels and taints say about its resources (`autopilot.resourceTaints`). Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from controller.nodes.node import Node
from shared.config.autopilot import Taint

ResourceTaints = Mapping[str, Sequence[Taint]]  # by the name of the resource

_KEEPS_OFF = frozenset({"NoSchedule", "NoExecute"})


def matching(node: Node, taints: Sequence[Taint]) -> Iterator[Taint]:
    """Those of `taints` that a label of the node has, in their order."""
    labels = dict(node.labels)
    return (taint for taint in taints if labels.get(taint.key) == taint.value)


def no_execute(node: Node, resource_taints: ResourceTaints) -> dict[str, str]:
    """The resources that running pods must leave, and the label that says so (`key=value`)."""
    found: dict[str, str] = {}
    for resource, taints in resource_taints.items():
        for taint in matching(node, taints):
            if taint.effect == "NoExecute":
                found.setdefault(resource, f"{taint.key}={taint.value}")
    return found


def unschedulable(node: Node, resource_taints: ResourceTaints) -> dict[str, Decimal]:
    """How much of each resource no new pod can have here, though the node has it.

    All of it on a node that takes no pods at all; else that of the resources that a label
    withholds.
    """
    closed = node.cordoned or node.out_of_reach
    return {
        resource: amount
        for resource, amount in node.allocatable
        if closed
        or any(
            taint.effect in _KEEPS_OFF
            for taint in matching(node, resource_taints.get(resource, ()))
        )
    }


@dataclass(frozen=True, slots=True)
class Tag:
    """`label` (`key=value`) says NoExecute; this process has known it since `since`."""

    label: str
    since: datetime


Tags = Mapping[str, Tag]  # by the name of the resource
NO_TAGS: Final[Tags] = MappingProxyType({})
