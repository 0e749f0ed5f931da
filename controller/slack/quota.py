"""How much the slack ClusterQueue may lend, from nodes, ResourceFlavors and ClusterQueues.

lendingLimit = clamp(schedulable - the nominal quota of all other ClusterQueues, 0, its nominal
quota), for each flavor and resource that the slack queue names: docs/admins/slack-quota.md.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from controller.facts.nodes import Node
from shared.api.objects import JsonObject, JsonValue, texts
from shared.api.quantities import QuantityError, parse_quantity
from shared.waits.quota import FlavorResource, quota_entries

# The field manager of the controller's writes to a ClusterQueue.
FIELD_MANAGER: Final = "appwrapper-slack-quota"

FlavorAmounts = Mapping[FlavorResource, Decimal]

_ZERO: Final = Decimal(0)
# More than any cluster has, but finite, so that its sums and differences are numbers.
_MORE_THAN_ALL: Final = Decimal(2**63 - 1)


@dataclass(frozen=True, slots=True)
class NodeFlavor:
    """A ResourceFlavor: its nodes have all of `labels`. Without labels, it matches every node."""

    name: str
    labels: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class StoredQuota:
    """A quota of one flavor and resource. `path` is the JSON pointer of its entry in the spec.

    Kueue schedules by `nominal`, and rejects a lending limit above the `written` nominal quota.
    They differ only if status.effectiveQuotas overrides the spec.
    """

    key: FlavorResource
    nominal: Decimal
    lending_limit: Decimal | None
    path: str
    written: Decimal

    @property
    def lends(self) -> Decimal:
        """Return the most that other queues may borrow of it."""
        return self.nominal if self.lending_limit is None else min(self.lending_limit, self.nominal)

    def lendable(self, headroom: Decimal) -> Decimal:
        """Return how much of it may be lent: `headroom`, within 0 and what Kueue accepts."""
        most = self.nominal if headroom >= self.nominal else self.written
        return min(max(headroom, _ZERO), most)


@dataclass(frozen=True, slots=True)
class StoredQueue:
    """A ClusterQueue. `quotas`: those of its spec; `groups`: the spec's resourceGroups as stored.

    `nominal`: the quotas that Kueue schedules by. `is_edited`: another client wrote the groups
    last.
    """

    name: str
    uid: str
    api_version: str
    cohort: str
    quotas: tuple[StoredQuota, ...]
    nominal: FlavorAmounts
    groups: JsonValue
    is_edited: bool


@dataclass(frozen=True, slots=True)
class SlackQuota:
    """One flavor and resource of the slack queue, with the inputs of its lending limit.

    `promised`: the nominal quota of all other ClusterQueues.
    """

    quota: StoredQuota
    schedulable: Decimal
    promised: Decimal

    @property
    def key(self) -> FlavorResource:
        """Return the names of the flavor and of the resource."""
        return self.quota.key

    @property
    def headroom(self) -> Decimal:
        """Return what is schedulable beyond all promises; negative if too much is promised."""
        return self.schedulable - self.promised

    @property
    def lendable(self) -> Decimal:
        """Return how much the slack queue should lend."""
        return self.quota.lendable(self.headroom)

    @property
    def excess(self) -> Decimal:
        """Return by how much the promises alone exceed what is schedulable."""
        return max(-self.headroom, _ZERO)


def node_flavor(item: JsonObject) -> NodeFlavor:
    """Project a ResourceFlavor of the API server."""
    labels = texts((item.get("spec") or {}).get("nodeLabels"))
    return NodeFlavor(item["metadata"]["name"], frozenset(labels.items()))


def stored_queue(item: JsonObject) -> StoredQueue:
    """Project a ClusterQueue of the API server."""
    metadata, spec = item["metadata"], item.get("spec") or {}
    groups = spec.get("resourceGroups") or []
    nominal = {key: _amount(each.get("nominalQuota")) for key, each in quota_entries(item)}
    return StoredQueue(
        name=metadata["name"],
        uid=metadata["uid"],
        api_version=item["apiVersion"],
        cohort=spec.get("cohortName") or "",
        quotas=tuple(_quotas(groups, nominal)),
        nominal=nominal,
        groups=groups,
        is_edited=any(map(_is_edit, metadata.get("managedFields") or ())),
    )


def _quotas(groups: JsonValue, nominal: FlavorAmounts) -> Iterator[StoredQuota]:
    for at, group in enumerate(groups):
        for place, flavor in enumerate(group.get("flavors") or ()):
            for index, each in enumerate(flavor.get("resources") or ()):
                limit = each.get("lendingLimit")
                key = flavor["name"], each["name"]
                yield StoredQuota(
                    key=key,
                    nominal=nominal.get(key, _ZERO),
                    lending_limit=None if limit is None else _amount(limit),
                    path=f"/spec/resourceGroups/{at}/flavors/{place}/resources/{index}",
                    written=_amount(each.get("nominalQuota")),
                )


def _amount(written: JsonValue) -> Decimal:
    try:
        return parse_quantity(written)
    except QuantityError:
        return _MORE_THAN_ALL  # only a number beyond all bounds passes the API server


def _is_edit(managed: JsonObject) -> bool:
    """True for another owner of the groups: a manager that changes an entry owns all of them."""
    fields = (managed.get("fieldsV1") or {}).get("f:spec") or {}
    return "f:resourceGroups" in fields and managed.get("manager") != FIELD_MANAGER


def schedulable(
    shares: Iterable[tuple[Node, Mapping[str, Decimal]]], flavors: Iterable[NodeFlavor]
) -> dict[FlavorResource, Decimal]:
    """Add up what new pods can have of each flavor's nodes.

    `shares`: each node with the amounts that no new pod can use. A node belongs to the matching
    flavor with the most labels, then with the first name, or to no flavor.
    """
    ordered = by_precedence(flavors)
    # Reads each label of each node once, however many flavors there are.
    named = frozenset[tuple[str, str]]().union(*(each.labels for each in ordered))
    total: dict[FlavorResource, Decimal] = defaultdict(Decimal)
    for node, withheld in shares:
        own = flavor_of(named.intersection(node.labels), ordered)
        if own is None:
            continue
        for resource, amount in node.allocatable:
            total[own, resource] += amount - withheld.get(resource, _ZERO)
    return dict(total)


def by_precedence(flavors: Iterable[NodeFlavor]) -> list[NodeFlavor]:
    """Sort for `flavor_of`: by number of labels, the largest first, then by name."""
    return sorted(flavors, key=lambda each: (-len(each.labels), each.name))


def flavor_of(labels: frozenset[tuple[str, str]], ordered: Iterable[NodeFlavor]) -> str | None:
    """Return the first flavor whose labels are among those of a node."""
    for flavor in ordered:
        if flavor.labels <= labels:
            return flavor.name
    return None


def slack_quotas(
    slack: StoredQueue, queues: Iterable[StoredQueue], free: FlavorAmounts
) -> tuple[SlackQuota, ...]:
    """Return the rows of the slack queue. `free`: schedulable amounts; `queues`: all queues."""
    promised: dict[FlavorResource, Decimal] = defaultdict(Decimal)
    for queue in queues:
        if queue.name != slack.name:
            for key, amount in queue.nominal.items():
                promised[key] += amount
    return tuple(
        SlackQuota(each, free.get(each.key, _ZERO), promised[each.key]) for each in slack.quotas
    )
