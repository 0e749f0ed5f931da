"""Compute a ClusterQueue's quota, the free part of it, and whether a request can ever fit. Pure.

The arithmetic is that of Kueue's documentation. A queue keeps the quota above its lendingLimit for
itself, lends the rest to its cohort, and borrows up to its borrowingLimit.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from shared.api.amounts import (
    ZERO,
    Amounts,
    added_up,
    amount_text,
    read_amount,
    read_amounts,
    resource_text,
)
from shared.api.objects import JsonObject, Resource
from shared.waits.workload import PodSetAsk

CLUSTER_QUEUES: Final = Resource(
    "kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", namespaced=False
)
LOCAL_QUEUES: Final = Resource("kueue.x-k8s.io", "v1beta2", "localqueues", "LocalQueue")
RESOURCE_FLAVORS: Final = Resource(
    "kueue.x-k8s.io", "v1beta2", "resourceflavors", "ResourceFlavor", namespaced=False
)
COHORTS: Final = Resource("kueue.x-k8s.io", "v1beta2", "cohorts", "Cohort", namespaced=False)

FlavorResource = tuple[str, str]  # the flavor's and the resource's name


@dataclass(frozen=True, slots=True, kw_only=True)
class FlavorQuota:
    """One resource in one flavor of a ClusterQueue.

    `used` is reserved by its own workloads. `free` is what one more could reserve now, with
    borrowing. `most` is what one could reserve if no other workload held quota.
    """

    flavor: str
    resource: str
    nominal: Decimal
    used: Decimal
    free: Decimal
    most: Decimal


@dataclass(frozen=True, slots=True)
class Cohort:
    """ClusterQueues that lend to each other, and the Cohort object if there is one.

    `is_whole`: there is no other source of quota. Otherwise `free` and `most` are lower bounds.
    """

    name: str = ""
    members: tuple[JsonObject, ...] = ()
    own: JsonObject = field(default_factory=dict)
    is_whole: bool = True

    @property
    def lends(self) -> bool:
        """True if it has another ClusterQueue, or quota of its own."""
        return len(self.members) > 1 or bool(self.own)


@dataclass(frozen=True, slots=True)
class _Share:
    """`kept` cannot be borrowed; `lent` goes to the cohort. Without `limit` borrowing is free."""

    kept: Decimal
    lent: Decimal
    used: Decimal
    limit: Decimal | None

    @property
    def taken(self) -> Decimal:
        """Return what the queue uses of the cohort's quota."""
        return max(ZERO, self.used - self.kept)


def cohort_of(queue: JsonObject) -> str:
    """Return the cohort's name; empty if the ClusterQueue has none."""
    spec = queue.get("spec") or {}
    return str(spec.get("cohortName") or spec.get("cohort") or "")


def flavor_quotas(queue: JsonObject, cohort: Cohort) -> tuple[FlavorQuota, ...]:
    """Return every flavor and resource of a ClusterQueue, in its order."""
    shares = {_name(each): _shares(each) for each in cohort.members}
    own = _shares(queue)
    shares[_name(queue)] = own
    extra = _nominal(cohort.own)
    found = []
    for key, share in own.items():
        free, most = share.kept + share.lent - share.used, share.kept + share.lent
        if cohort_of(queue):
            others = [each[key] for each in shares.values() if key in each]
            pool = sum((each.lent for each in others), extra.get(key, ZERO))
            left = pool - sum((each.taken for each in others), ZERO)
            limit = None if share.limit is None else share.lent + share.limit
            if limit is not None:
                left, pool = min(left, limit - share.taken), min(pool, limit)
            free, most = max(ZERO, share.kept - share.used) + left, share.kept + pool
        flavor, resource = key
        found.append(
            FlavorQuota(
                flavor=flavor,
                resource=resource,
                nominal=share.kept + share.lent,
                used=share.used,
                free=max(ZERO, free),
                most=most,
            )
        )
    return tuple(found)


def _shares(queue: JsonObject) -> dict[FlavorResource, _Share]:
    used = _used(queue)
    found = {}
    for key, each in quota_entries(queue):
        nominal = read_amount(each.get("nominalQuota"))
        lending, borrowing = each.get("lendingLimit"), each.get("borrowingLimit")
        lent = nominal if lending is None else min(nominal, read_amount(lending))
        limit = None if borrowing is None else read_amount(borrowing)
        found[key] = _Share(nominal - lent, lent, used.get(key, ZERO), limit)
    return found


def _nominal(cohort: JsonObject) -> dict[FlavorResource, Decimal]:
    entries = quota_entries(cohort)
    return {key: read_amount(each.get("nominalQuota")) for key, each in entries}


def quota_entries(item: JsonObject) -> Iterator[tuple[FlavorResource, JsonObject]]:
    """Yield each quota of a ClusterQueue or Cohort that Kueue schedules by, with its limits.

    `status.effectiveQuotas` replaces the quotas of the spec, even without any groups. Kueue's
    Dynamic Quota Orchestration (alpha in 0.20) writes it; older versions do not know the field.
    """
    effective = (item.get("status") or {}).get("effectiveQuotas")
    yield from written_quotas(item if effective is None else {"spec": effective})


def written_quotas(item: JsonObject) -> Iterator[tuple[FlavorResource, JsonObject]]:
    """Yield each quota of a ClusterQueue or Cohort as its admin wrote it, with its limits."""
    for group in (item.get("spec") or {}).get("resourceGroups") or ():
        for flavor in group.get("flavors") or ():
            for each in flavor.get("resources") or ():
                yield (flavor["name"], each["name"]), each


def _used(queue: JsonObject) -> dict[FlavorResource, Decimal]:
    status = queue.get("status") or {}
    held = status.get("flavorsReservation") or status.get("flavorsUsage") or ()
    return {
        (flavor["name"], each["name"]): read_amount(each.get("total"))
        for flavor in held
        for each in flavor.get("resources") or ()
    }


def _name(queue: JsonObject) -> str:
    return str(queue["metadata"]["name"])


# Requests compared with the quota.


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """One requested resource, compared with all flavors that have it.

    `asked` is the whole workload's request, `largest` its largest pod set's: a pod set needs one
    flavor for all of its pods. `flavors` is empty if the ClusterQueue does not cover the resource.
    """

    resource: str
    asked: Decimal
    largest: Decimal
    flavors: tuple[FlavorQuota, ...]

    @property
    def is_short(self) -> bool:
        """True if it cannot be reserved now in any flavors."""
        return self._exceeds([each.free for each in self.flavors])

    @property
    def never_fits(self) -> bool:
        """True if it could not be reserved even if no other workload held quota."""
        return self._exceeds([each.most for each in self.flavors])

    @property
    def free(self) -> Decimal:
        """Return the sum of all flavors."""
        return sum((each.free for each in self.flavors), ZERO)

    @property
    def nominal(self) -> Decimal:
        """Return the sum of all flavors."""
        return sum((each.nominal for each in self.flavors), ZERO)

    @property
    def most(self) -> Decimal:
        """Return the sum of all flavors."""
        return sum((each.most for each in self.flavors), ZERO)

    def _exceeds(self, amounts: Sequence[Decimal]) -> bool:
        return self.asked > sum(amounts, ZERO) or self.largest > max(amounts, default=ZERO)


def demands(asks: Sequence[PodSetAsk], quotas: Sequence[FlavorQuota]) -> tuple[Demand, ...]:
    """Return one for each requested resource. Pods count only if the queue covers them."""
    covered = {each.resource for each in quotas}
    return tuple(
        Demand(
            resource=resource,
            asked=asked,
            largest=max(each.quota.get(resource, ZERO) for each in asks),
            flavors=tuple(each for each in quotas if each.resource == resource),
        )
        for resource, asked in added_up(each.quota for each in asks).items()
        if resource in covered or resource != "pods"
    )


def largest_by_node(nodes: Sequence[Amounts], asks: Iterable[PodSetAsk]) -> str:
    """Return, as a sentence, a pod that fits no empty node; empty if every pod fits one.

    `nodes`: what `offered` returns for each node.
    """
    for ask in asks:
        if not ask.count or any(fits(ask.each, node) for node in nodes):
            continue
        for resource, amount in ask.each.items():
            most = max((node.get(resource, ZERO) for node in nodes), default=ZERO)
            if amount > most:
                return _too_large(resource, amount, most)
        return "no node has all that one of its pods asks for"
    return ""


def _too_large(resource: str, amount: Decimal, most: Decimal) -> str:
    asked = f"one of its pods asks for {resource_text(amount, resource)}"
    if not most:
        return f"{asked}, and no node has any"
    return f"{asked}, and the largest node has {amount_text(most, resource)}"


def offered(node: JsonObject) -> Amounts:
    """Return the amounts that pods can have of an empty node."""
    status = node.get("status") or {}
    return read_amounts(status.get("allocatable") or status.get("capacity"))


def fits(asked: Mapping[str, Decimal], node: Mapping[str, Decimal]) -> bool:
    """True if an empty node has all that a pod asks for."""
    return all(amount <= node.get(name, ZERO) for name, amount in asked.items())
