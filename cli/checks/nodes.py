"""Read nodes: their resources, the amounts that no new pod can use, and why. Pure.

The controller's own function computes the unschedulable amounts, so this command, the metric and
the slack queue always agree. It covers cordons, unreachable nodes, the labels of `resourceTaints`
and latches. Other taints dedicate nodes and change no amount.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from cli.checks.findings import CheckFinding, FindingSeverity
from cli.checks.workloads import GPU
from controller.facts.latched_nodes import RecordedTags, tags_now
from controller.facts.nodes import (
    Node,
    NodeProjection,
    ResourceTaints,
    Tag,
    matching,
    no_execute,
    tolerates,
    unschedulable,
)
from shared.api.amounts import ZERO, Amounts, amount_text, read_amounts, resource_text
from shared.api.objects import JsonObject

_KEEPS_OFF: Final = frozenset({"NoSchedule", "NoExecute"})
# Kubernetes sets these taints itself. The node's other fields show the same state.
_OF_KUBERNETES: Final = "node.kubernetes.io/"
_INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """A node for the checks. `flags`: why new pods cannot use this node or its resources.

    `instance`: the cloud's instance type, "" without one.
    """

    name: str
    capacity: Amounts
    allocatable: Amounts
    unschedulable: Amounts
    flags: tuple[str, ...] = ()
    taints: tuple[tuple[str, str, str], ...] = ()  # key, value, effect: only the admins' taints
    instance: str = ""

    def schedulable(self, resource: str) -> Decimal:
        """Return how much of the resource new and present pods can use."""
        return self.allocatable.get(resource, ZERO) - self.unschedulable.get(resource, ZERO)

    def lacks(self, resource: str) -> str:
        """Return how much less the kubelet offers than the node has, "" if nothing is missing."""
        has, offers = self.capacity.get(resource, ZERO), self.allocatable.get(resource, ZERO)
        if offers >= has:
            return ""
        return (
            f"the kubelet offers {amount_text(offers, resource)} of its"
            f" {resource_text(has, resource)}"
        )


@dataclass(frozen=True, slots=True)
class NodeShape:
    """The allocatable resources of one kind of node, and the number of such nodes."""

    allocatable: tuple[tuple[str, Decimal], ...]
    nodes: int

    @property
    def amounts(self) -> dict[str, Decimal]:
        return dict(self.allocatable)


@dataclass(frozen=True, slots=True)
class Latches:
    """The controller's record of latched nodes, and the period of a latch."""

    recorded: RecordedTags
    period: timedelta
    now: datetime

    def of(self, node: Node, resource_taints: ResourceTaints) -> dict[str, Tag]:
        """Return by resource the labels that the node no longer has and that still count."""
        known = {
            resource: nodes[node.name].tag
            for resource, nodes in self.recorded.items()
            if node.name in nodes and nodes[node.name].uid == node.uid
        }
        labels = no_execute(node, resource_taints)
        tags = tags_now(node, labels, known, self.period, self.now)
        return {resource: tag for resource, tag in tags.items() if tag.gone is not None}


def node_of(
    item: JsonObject, resource_taints: ResourceTaints, latches: Latches | None = None
) -> NodeState:
    status, spec = item.get("status") or {}, item.get("spec") or {}
    allocatable = read_amounts(status.get("allocatable"))
    capacity = read_amounts(status.get("capacity"))
    keys = {taint.key for taints in resource_taints.values() for taint in taints}
    fact = NodeProjection(keys, {*allocatable, *capacity, *resource_taints}).project(item)
    latched = latches.of(fact, resource_taints) if latches else {}
    return NodeState(
        name=fact.name,
        capacity=capacity,
        allocatable=allocatable,
        unschedulable=unschedulable(fact, resource_taints, latched),
        flags=(
            *_flags(fact, resource_taints),
            *(f"{tag.label} is gone, latched" for tag in latched.values()),
        ),
        taints=tuple(
            (each["key"], each.get("value") or "", each["effect"])
            for each in spec.get("taints") or ()
            if each["effect"] in _KEEPS_OFF and not each["key"].startswith(_OF_KUBERNETES)
        ),
        instance=(item["metadata"].get("labels") or {}).get(_INSTANCE_TYPE, ""),
    )


def _flags(node: Node, resource_taints: ResourceTaints) -> Iterable[str]:
    if node.cordoned:
        yield "cordoned"
    if node.out_of_reach:
        yield "NotReady or unreachable"
    for taints in resource_taints.values():
        for taint in matching(node, taints):
            if taint.effect in _KEEPS_OFF:
                yield f"{taint.key}={taint.value}, {taint.effect}"


def shapes(nodes: Iterable[NodeState]) -> tuple[NodeShape, ...]:
    """Group nodes by their allocatable resources, the commonest shape first."""
    found = Counter(tuple(sorted(each.allocatable.items())) for each in nodes)
    ordered = sorted(found.items(), key=lambda each: (-each[1], each[0]))
    return tuple(NodeShape(key, count) for key, count in ordered)


def node_findings(
    nodes: Iterable[NodeState], tolerations: Sequence[JsonObject]
) -> Iterator[CheckFinding]:
    """Yield the findings about nodes with GPUs.

    `tolerations`: of the ResourceFlavors. Kueue adds them to the pods that it starts.
    """
    having = [each for each in nodes if each.capacity.get(GPU) or each.allocatable.get(GPU)]
    for each in having:
        if lost := each.unschedulable.get(GPU):
            yield CheckFinding(
                about=f"node {each.name}",
                message=f"{resource_text(lost, GPU)} cannot be scheduled ({'; '.join(each.flags)})",
            )
    for each in having:
        if lacks := each.lacks(GPU):
            yield CheckFinding(
                about=f"node {each.name}",
                message=lacks,
                advice="Check the device plugin on this node: it reports the others as unhealthy",
            )
    yield from _taints(having, tolerations)


def _taints(
    nodes: Iterable[NodeState], tolerations: Sequence[JsonObject]
) -> Iterator[CheckFinding]:
    """Yield one note a taint, not one a node: admins dedicate many nodes by the same taint."""
    found: dict[tuple[str, str, str], list[NodeState]] = {}
    for node in nodes:
        for taint in node.taints:
            if not any(tolerates(each, taint) for each in tolerations):
                found.setdefault(taint, []).append(node)
    for (key, value, effect), tainted in found.items():
        count = sum((each.allocatable.get(GPU, ZERO) for each in tainted), ZERO)
        yield CheckFinding(
            severity=FindingSeverity.NOTE,
            about=f"taint {key}{f'={value}' if value else ''}:{effect}",
            message=f"{len(tainted)} node(s) with {resource_text(count, GPU)} have it, and"
            " no ResourceFlavor tolerates it: only pods with a toleration of their own run there",
        )
