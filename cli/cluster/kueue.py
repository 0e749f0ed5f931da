"""Read ClusterQueues and LocalQueues of Kueue: quota, usage and state. Pure."""

from dataclasses import dataclass, field
from decimal import Decimal

from shared.api.amounts import ZERO, read_amount
from shared.api.conditions import condition
from shared.api.objects import JsonObject
from shared.waits.quota import cohort_of, quota_entries


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """One resource of one flavor in one ClusterQueue. A limit of None means no limit."""

    flavor: str
    resource: str
    nominal: Decimal
    borrowing_limit: Decimal | None = None
    lending_limit: Decimal | None = None
    used: Decimal = ZERO  # by admitted workloads
    borrowed: Decimal = ZERO
    reserved: Decimal = ZERO  # by workloads with a reservation, admitted or about to be

    @property
    def lendable(self) -> Decimal:
        """The largest amount that other queues may borrow."""
        return self.nominal if self.lending_limit is None else self.lending_limit


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterQueue:
    """A ClusterQueue. `inactive`: Kueue's message if the queue admits nothing, else "".

    `stop_policy`: "None" if no admin stopped it.
    """

    name: str
    cohort: str
    quotas: tuple[Quota, ...]
    admitted: int
    pending: int
    inactive: str = ""
    stop_policy: str = "None"

    def nominal(self, resource: str) -> Decimal:
        """Add the nominal quota of all flavors."""
        return sum((each.nominal for each in self.of(resource)), ZERO)

    def used(self, resource: str) -> Decimal:
        """Add the usage of all flavors."""
        return sum((each.used for each in self.of(resource)), ZERO)

    def borrowed(self, resource: str) -> Decimal:
        """Add the borrowed quota of all flavors."""
        return sum((each.borrowed for each in self.of(resource)), ZERO)

    def lendable(self, resource: str) -> Decimal:
        """Add the lendable quota of all flavors."""
        return sum((each.lendable for each in self.of(resource)), ZERO)

    def of(self, resource: str) -> tuple[Quota, ...]:
        """Return the quotas of the resource, one a flavor."""
        return tuple(each for each in self.quotas if each.resource == resource)

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources with quota, in the order of the spec."""
        return tuple(dict.fromkeys(each.resource for each in self.quotas))


@dataclass(frozen=True, slots=True)
class LocalQueue:
    """A LocalQueue. `inactive`: Kueue's message if its workloads wait, else ""."""

    namespace: str
    name: str
    cluster_queue: str
    inactive: str = ""
    admitted: int = 0
    pending: int = 0
    stop_policy: str = "None"


@dataclass(frozen=True, slots=True)
class _Usage:
    total: Decimal = ZERO
    borrowed: Decimal = ZERO


@dataclass(frozen=True, slots=True)
class _Flavors:
    """`status.flavorsUsage` or `status.flavorsReservation`, by flavor and resource."""

    by_key: dict[tuple[str, str], _Usage] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: list[JsonObject] | None) -> "_Flavors":
        return cls(
            {
                (flavor["name"], each["name"]): _Usage(
                    read_amount(each.get("total")), read_amount(each.get("borrowed"))
                )
                for flavor in entries or ()
                for each in flavor.get("resources") or ()
            }
        )

    def at(self, flavor: str, resource: str) -> _Usage:
        return self.by_key.get((flavor, resource), _Usage())


def cluster_queue_of(item: JsonObject) -> ClusterQueue:
    """Read a ClusterQueue."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    usage = _Flavors.of(status.get("flavorsUsage"))
    reservation = _Flavors.of(status.get("flavorsReservation"))
    quotas = tuple(
        _quota(flavor, each, usage, reservation) for (flavor, _), each in quota_entries(item)
    )
    return ClusterQueue(
        name=item["metadata"]["name"],
        cohort=cohort_of(item),
        quotas=quotas,
        admitted=status.get("admittedWorkloads") or 0,
        pending=status.get("pendingWorkloads") or 0,
        inactive=_inactive(status),
        stop_policy=spec.get("stopPolicy") or "None",
    )


def local_queue_of(item: JsonObject) -> LocalQueue:
    metadata, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    return LocalQueue(
        metadata["namespace"],
        metadata["name"],
        spec.get("clusterQueue") or "",
        _inactive(status),
        status.get("admittedWorkloads") or 0,
        status.get("pendingWorkloads") or 0,
        spec.get("stopPolicy") or "None",
    )


def _quota(flavor: str, written: JsonObject, usage: _Flavors, reservation: _Flavors) -> Quota:
    name = written["name"]
    used = usage.at(flavor, name)
    return Quota(
        flavor=flavor,
        resource=name,
        nominal=read_amount(written.get("nominalQuota")),
        borrowing_limit=_limit(written, "borrowingLimit"),
        lending_limit=_limit(written, "lendingLimit"),
        used=used.total,
        borrowed=used.borrowed,
        reserved=reservation.at(flavor, name).total,
    )


def _limit(written: JsonObject, key: str) -> Decimal | None:
    return None if written.get(key) is None else read_amount(written[key])


def _inactive(status: JsonObject) -> str:
    active = condition(status.get("conditions") or (), "Active")
    if active is None or active.get("status") == "True":
        return ""
    return active.get("message") or active.get("reason") or "Active is not True"
