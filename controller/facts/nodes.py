"""Nodes as facts: what their labels and taints mean for pods."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache

from shared.api.objects import JsonObject, JsonValue
from shared.api.quantities import QuantityError, parse_quantity
from shared.config.fault_tolerance import Taint

# A node as the controller remembers it: what decisions depend on.
#
# A node's status changes every few minutes though nothing happened (heartbeats), and with each
# image that it pulls. None of that is here, so none of it is a change.

# Put on by the node controller when a node's kubelet reports trouble, or nothing at all.
_OUT_OF_REACH = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """`labels` are those of interest, sorted by key.

    `allocatable` and `resources` know of the resources of interest only: how much of each pods may
    have now, and which of them the node is made of. A resource whose devices have all failed is
    still one of the latter.
    """

    name: str
    uid: str
    labels: tuple[tuple[str, str], ...]
    cordoned: bool
    out_of_reach: bool  # NotReady or unreachable
    allocatable: tuple[tuple[str, Decimal], ...]
    resources: frozenset[str]


class NodeProjection:
    """`project` makes Nodes that know these label keys and these resources. None: all of them."""

    def __init__(
        self, label_keys: Iterable[str] | None = None, resources: Iterable[str] | None = None
    ) -> None:
        self._label_keys = None if label_keys is None else sorted(set(label_keys))
        self._resources = None if resources is None else sorted(set(resources))

    def project(self, item: JsonObject) -> Node:
        """From the API server's object, which may then be dropped."""
        metadata = item["metadata"]
        spec = item.get("spec") or {}
        status = item.get("status") or {}
        labels = metadata.get("labels") or {}
        keys = sorted(labels) if self._label_keys is None else self._label_keys
        allocatable = self._amounts(status.get("allocatable"))
        capacity = self._amounts(status.get("capacity"))
        return Node(
            name=metadata["name"],
            uid=metadata["uid"],
            labels=tuple(_pair(key, labels[key]) for key in keys if key in labels),
            cordoned=bool(spec.get("unschedulable")),
            out_of_reach=any(each.get("key") in _OUT_OF_REACH for each in spec.get("taints") or ()),
            allocatable=tuple(allocatable.items()),
            resources=frozenset(allocatable) | frozenset(capacity),
        )

    def _amounts(self, written: JsonValue) -> dict[str, Decimal]:
        """Those that are more than 0."""
        amounts = written if isinstance(written, dict) else {}
        names = sorted(amounts) if self._resources is None else self._resources
        read = {name: _amount(str(amounts.get(name, ""))) for name in names}
        return {name: amount for name, amount in read.items() if amount > 0}


# The nodes of a cluster are much alike: 2,000 of them share their labels and amounts, which makes
# the memory of all labels small. A heartbeat, which changes neither, parses nothing.


@lru_cache(maxsize=1 << 16)
def _pair(key: str, value: str) -> tuple[str, str]:
    return key, value


@lru_cache(maxsize=1 << 12)
def _amount(written: str) -> Decimal:
    try:
        return parse_quantity(written)
    except QuantityError:
        return Decimal(0)  # absent; the API server takes no amount that is no quantity


# What a node's labels and taints say about its resources (`autopilot.resourceTaints`).

ResourceTaints = Mapping[str, Sequence[Taint]]  # by the name of the resource

_KEEPS_OFF = frozenset({"NoSchedule", "NoExecute"})


def matching(node: Node, taints: Sequence[Taint]) -> Iterator[Taint]:
    """Those of `taints` that a label of the node has, in their order."""
    # Scanned: to make a dict of a hundred labels costs more.
    return (taint for taint in taints if (taint.key, taint.value) in node.labels)


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
