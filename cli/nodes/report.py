"""Report the GPUs of each node, and of each shape of node. Pure.

A node is bad for a resource by the rules of `appwrapper check`: see cli/checks/nodes.py.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from cli.checks.nodes import NodeState
from cli.checks.workloads import HoldingPod
from cli.cluster.unread import Unread
from shared.api.amounts import ZERO


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedNodes:
    """`pods`: those with GPUs, None if they could not be read. `resources`: names of GPUs.

    `in_queues`: the GPUs of Kueue's admitted workloads, None unless the pods could not be read.
    """

    nodes: tuple[NodeState, ...]
    pods: tuple[HoldingPod, ...] | None
    resources: frozenset[str]
    in_queues: Decimal | None = None
    unread: tuple[Unread, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLine:
    """One resource of one node. `resource`: "" for a node without GPUs. None: unknown.

    `each`: how many GPUs the node has. `gpus`: how many of these the kubelet offers. `free`: those
    that a new pod can get, 0 on a bad node. `why`: the node is bad, or some of its GPUs are.
    """

    name: str
    resource: str
    instance: str
    each: Decimal
    gpus: Decimal
    in_use: Decimal | None
    free: Decimal | None
    why: tuple[str, ...]
    taints: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeLine:
    """The nodes of one shape. `largest_free`: the most free GPUs on one node."""

    resource: str
    instance: str
    each: Decimal
    nodes: int
    bad: int
    gpus: Decimal
    in_use: Decimal | None
    free: Decimal | None
    largest_free: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesReport:
    """`in_queues`: the GPUs of Kueue's admitted workloads, only if the pods are unreadable.

    `schedulable`: the GPUs that new and present pods can use, on all nodes.
    """

    shapes: tuple[ShapeLine, ...]
    nodes: tuple[NodeLine, ...]
    schedulable: Decimal
    in_queues: Decimal | None
    unread: tuple[str, ...]


def nodes_report(seen: ObservedNodes) -> NodesReport:
    """Compose the report: the nodes with the most GPUs first, those without GPUs last."""
    used = None if seen.pods is None else _used(seen.pods, seen.resources)
    lines = [line for node in seen.nodes for line in _lines(node, seen, used)]
    ordered = sorted(lines, key=lambda each: (not each.resource, *_shape(each), each.name))
    groups: dict[tuple[str, Decimal, str], list[NodeLine]] = {}
    for line in ordered:
        groups.setdefault(_shape(line), []).append(line)
    return NodesReport(
        shapes=tuple(map(_shape_line, groups.values())),
        nodes=tuple(ordered),
        schedulable=sum(
            (node.schedulable(each) for node in seen.nodes for each in seen.resources), ZERO
        ),
        in_queues=seen.in_queues,
        unread=tuple(map(str, seen.unread)),
    )


def _shape(line: NodeLine) -> tuple[str, Decimal, str]:
    return (line.resource, -line.each, line.instance)


def _used(pods: Iterable[HoldingPod], resources: Iterable[str]) -> dict[tuple[str, str], Decimal]:
    """Add up the requests of the pods, by node and resource."""
    found: dict[tuple[str, str], Decimal] = {}
    for pod in pods:
        for resource in resources:
            if amount := pod.amounts.get(resource):
                found[pod.node, resource] = found.get((pod.node, resource), ZERO) + amount
    return found


def _lines(
    node: NodeState, seen: ObservedNodes, used: dict[tuple[str, str], Decimal] | None
) -> Iterator[NodeLine]:
    has = sorted(seen.resources & {*node.capacity, *node.allocatable})
    for resource in has or [""]:
        in_use = None if used is None else used.get((node.name, resource), ZERO)
        yield NodeLine(
            name=node.name,
            resource=resource,
            instance=node.instance,
            each=node.capacity.get(resource) or node.allocatable.get(resource, ZERO),
            gpus=node.allocatable.get(resource, ZERO),
            in_use=in_use,
            free=None if in_use is None else max(ZERO, node.schedulable(resource) - in_use),
            why=tuple(_why(node, resource)),
            taints=tuple(f"{key}={value}:{effect}" for key, value, effect in node.taints),
        )


def _why(node: NodeState, resource: str) -> Iterator[str]:
    offers = node.allocatable.get(resource)
    if not offers or node.unschedulable.get(resource):
        yield from dict.fromkeys(node.flags)
    if resource and not node.capacity.get(resource):
        yield f"no device of {resource} is registered"
    if lacks := node.lacks(resource):
        yield lacks


def _shape_line(lines: Sequence[NodeLine]) -> ShapeLine:
    first = lines[0]
    free = [line.free for line in lines if line.free is not None]
    used = [line.in_use for line in lines if line.in_use is not None]
    return ShapeLine(
        resource=first.resource,
        instance=first.instance,
        each=first.each,
        nodes=len(lines),
        bad=sum(bool(line.why) for line in lines),
        gpus=sum((line.gpus for line in lines), ZERO),
        in_use=sum(used, ZERO) if used else None,
        free=sum(free, ZERO) if free else None,
        largest_free=max(free) if free else None,
    )
