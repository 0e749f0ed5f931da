"""Compare the quotas of all ClusterQueues with the nodes' capacity. Pure.

A quota belongs to a flavor. A node belongs to the flavor that selects it by the most labels.
Capacity is the nodes' `allocatable` without the amounts that the controller calls unschedulable.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from cli.checks.nodes import Latches, node_of
from controller.facts.nodes import ResourceTaints
from controller.slack.quota import by_precedence, flavor_of, node_flavor
from shared.api.amounts import ZERO, read_amount
from shared.api.objects import JsonObject, is_label_key, labels
from shared.api.quantities import QuantityError, parse_quantity
from shared.waits.quota import FlavorResource, written_quotas

QuotaAmounts = Mapping[FlavorResource, Decimal]


class QuotaError(ValueError):
    """An invalid quota. The message shows a valid one."""


def parsed_quotas(written: Iterable[str]) -> dict[str, str]:
    """Parse the values of --quota, RESOURCE=AMOUNT each. Raises QuotaError."""
    found: dict[str, str] = {}
    for each in written:
        resource, equals, amount = each.partition("=")
        if not equals or not is_label_key(resource):
            raise QuotaError(f"--quota {each}: write RESOURCE=AMOUNT, as nvidia.com/gpu=64")
        try:
            value = parse_quantity(amount)
        except QuantityError as error:
            raise QuotaError(f"--quota {each}: {error}") from error
        if value < 0:
            raise QuotaError(f"--quota {each}: a quota cannot be less than 0")
        if resource in found:
            raise QuotaError(f"--quota names {resource} twice")
        found[resource] = amount
    return found


def summed(queues: Iterable[JsonObject], slack_queue: str) -> dict[FlavorResource, Decimal]:
    """Add the nominal quotas of all queues; for the slack queue its lending limits, if set.

    They are those that admins wrote, as the command writes them too: an effective quota follows.
    """
    total: dict[FlavorResource, Decimal] = defaultdict(Decimal)
    for queue in queues:
        is_slack = queue["metadata"]["name"] == slack_queue
        for key, each in written_quotas(queue):
            limit = each.get("lendingLimit") if is_slack else None
            total[key] += read_amount(each.get("nominalQuota") if limit is None else limit)
    return dict(total)


@dataclass(frozen=True, slots=True)
class CapacityRow:
    """One resource of one flavor. `schedulable`: None if the nodes could not be read."""

    flavor: str
    resource: str
    schedulable: Decimal | None
    unschedulable: Decimal | None
    quotas_before: Decimal
    quotas_after: Decimal

    @property
    def is_exceeded(self) -> bool:
        """True if all quotas together exceed the capacity."""
        return self.schedulable is not None and self.quotas_after > self.schedulable

    @property
    def is_raised(self) -> bool:
        """True if this command raises the sum of all quotas."""
        return self.quotas_after > self.quotas_before


def capacity_rows(
    keys: Iterable[FlavorResource],
    before: QuotaAmounts,
    after: QuotaAmounts,
    capacity: Mapping[FlavorResource, tuple[Decimal, Decimal]] | None,
) -> tuple[CapacityRow, ...]:
    """Return a row for each key. `capacity`: schedulable and unschedulable; None: unknown."""
    rows = []
    for key in dict.fromkeys(keys):
        free, closed = (None, None) if capacity is None else capacity.get(key, (ZERO, ZERO))
        sums = (before.get(key, ZERO), after.get(key, ZERO))
        rows.append(CapacityRow(*key, free, closed, *sums))
    return tuple(rows)


def capacities(
    keys: Sequence[FlavorResource],
    flavors: Mapping[str, JsonObject],
    nodes: Iterable[JsonObject],
    resource_taints: ResourceTaints,
    latches: Latches | None = None,
) -> dict[FlavorResource, tuple[Decimal, Decimal]]:
    """Return the schedulable and the unschedulable amount of each flavor's nodes.

    A node belongs to one flavor, as for the slack queue. `flavors`: all flavors of the cluster.
    """
    ordered = by_precedence(node_flavor(each) for each in flavors.values())
    found = {key: [Decimal(0), Decimal(0)] for key in keys if key[0] in flavors}
    for item in nodes:
        node = node_of(item, resource_taints, latches)
        name = flavor_of(frozenset(labels(item).items()), ordered) or ""
        for resource, value in node.allocatable.items():
            if (name, resource) in found:
                found[name, resource][resource in node.unschedulable] += value
    return {key: (free, closed) for key, (free, closed) in found.items()}
