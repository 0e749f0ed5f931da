"""Which nodes are to be left by whoever uses which resource: the one place that knows.

Fed by the informer of nodes. What is to happen then is decided elsewhere.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType

from controller.facts.nodes import (
    Node,
    ResourceTaints,
    Tag,
    Tags,
    matching,
    no_execute,
    unschedulable,
)
from shared.config.fault_tolerance import Taint
from shared.kube.object_cache import Change


class NodeIndex:
    """`resource_taints` as configured."""

    def __init__(self, resource_taints: ResourceTaints) -> None:
        self._resource_taints = resource_taints
        self._nodes: dict[str, Node] = {}
        self._tags: dict[str, dict[str, Tag]] = {}
        # The resources that are NoExecute, by node; only of nodes that have some. It stays current.
        self.tags: Mapping[str, Tags] = MappingProxyType(self._tags)
        self._tagged: dict[str, dict[str, str]] = {resource: {} for resource in resource_taints}
        self._populations: Counter[str] = Counter()

    @property
    def resources(self) -> tuple[str, ...]:
        """Those that have taints, in the order of the configuration."""
        return tuple(self._resource_taints)

    def update(self, change: Change[Node], now: datetime) -> frozenset[str]:
        """Takes a change in. The resources that became, or are no longer, NoExecute on the node.

        A tag that was known before keeps its moment, whatever else of the node changed.
        """
        _, name = change.key
        before = self._tags.get(name, {})
        self._forget(name)
        if change.new is not None:
            self._remember(change.new, before, now)
        after = self._tags.get(name, {})
        return frozenset(before.keys() ^ after.keys())

    def tagged(self, resource: str) -> Mapping[str, str]:
        """The nodes that have the resource and are NoExecute for it: name → UID."""
        return MappingProxyType(self._tagged.get(resource, {}))

    def population(self, resource: str) -> int:
        """How many nodes have the resource."""
        return self._populations[resource]

    def __len__(self) -> int:
        return len(self._nodes)

    def matches(self) -> Iterator[tuple[str, Taint, int]]:
        """Each configured taint with its resource and the number of nodes that carry the label."""
        for resource, taints in self._resource_taints.items():
            for taint in taints:
                found = sum(any(matching(node, (taint,))) for node in self._nodes.values())
                yield resource, taint, found

    def unschedulable(self, resource: str) -> Decimal:
        """How much of the resource no new pod can have, though nodes have it."""
        withheld = (amounts.get(resource, Decimal(0)) for _, amounts in self.shares())
        return sum(withheld, Decimal(0))

    def shares(self) -> Iterator[tuple[Node, Mapping[str, Decimal]]]:
        """Yield each node, and how much of its resources no new pod can have."""
        for node in self._nodes.values():
            yield node, unschedulable(node, self._resource_taints)

    def _forget(self, name: str) -> None:
        node = self._nodes.pop(name, None)
        if node is None:
            return
        self._populations.subtract(node.resources)
        for resource in self._tags.pop(name, ()):
            self._tagged[resource].pop(name, None)

    def _remember(self, node: Node, before: Mapping[str, Tag], now: datetime) -> None:
        self._nodes[node.name] = node
        self._populations.update(node.resources)
        tags = {
            resource: Tag(label, before[resource].since if resource in before else now)
            for resource, label in no_execute(node, self._resource_taints).items()
        }
        if not tags:
            return
        self._tags[node.name] = tags
        for resource in tags.keys() & node.resources:
            self._tagged[resource][node.name] = node.uid
