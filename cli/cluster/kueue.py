"""Read ClusterQueues and LocalQueues of Kueue: quota, usage and state. Pure."""

from dataclasses import dataclass
from decimal import Decimal

from cli.cluster.unread import Many, One, Unread, objects
from shared.api.amounts import ZERO, read_amount
from shared.api.conditions import condition
from shared.api.objects import JsonObject
from shared.waits import queueing
from shared.waits.quota import FlavorResource, cohort_of, quota_entries


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

    `stop_policy`: "None" if no admin stopped it. `orchestrator`: the Kind and name of the object
    that sets its quotas in place of the spec, else "".
    """

    name: str
    cohort: str
    quotas: tuple[Quota, ...]
    admitted: int
    pending: int
    inactive: str = ""
    stop_policy: str = "None"
    orchestrator: str = ""

    def of(self, resource: str) -> tuple[Quota, ...]:
        """Return the quotas of the resource, one a flavor."""
        return tuple(each for each in self.quotas if each.resource == resource)

    def total(self, resource: str) -> Quota:
        """Add the quotas of all flavors, without a borrowing limit: those do not add up."""
        own = self.of(resource)
        return Quota(
            flavor="",
            resource=resource,
            nominal=sum((each.nominal for each in own), ZERO),
            used=sum((each.used for each in own), ZERO),
            borrowed=sum((each.borrowed for each in own), ZERO),
            reserved=sum((each.reserved for each in own), ZERO),
            lending_limit=sum((each.lendable for each in own), ZERO),
        )

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


def queue_trouble(
    namespace: str, name: str, local: One, cluster: One
) -> queueing.QueueTrouble | None:
    """Return why LocalQueue `name` admits nothing; None if it does, or if it could not be read."""
    if isinstance(local, Unread):
        return None
    found = queueing.local_queue(local) if local else None
    feeds: queueing.Queue | None
    if isinstance(cluster, Unread):
        feeds = queueing.Queue("ClusterQueue", found.cluster_queue if found else "")
    else:
        feeds = queueing.cluster_queue(cluster) if cluster else None
    return queueing.queue_trouble(namespace, name, found, feeds)


def queue_positions(pending: Many) -> dict[str, int]:
    """Return the positions in the ClusterQueue, from 1, by the name of the Workload."""
    return {
        str(each["metadata"]["name"]): int(each.get("positionInClusterQueue") or 0) + 1
        for each in objects(pending)
    }


_Amounts = dict[FlavorResource, tuple[Decimal, Decimal]]  # total and borrowed


def _amounts(status: JsonObject, field: str) -> _Amounts:
    return {
        (flavor["name"], each["name"]): (
            read_amount(each.get("total")),
            read_amount(each.get("borrowed")),
        )
        for flavor in status.get(field) or ()
        for each in flavor.get("resources") or ()
    }


def cluster_queue_of(item: JsonObject) -> ClusterQueue:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    usage, reservation = _amounts(status, "flavorsUsage"), _amounts(status, "flavorsReservation")
    quotas = tuple(_quota(key, each, usage, reservation) for key, each in quota_entries(item))
    return ClusterQueue(
        name=item["metadata"]["name"],
        cohort=cohort_of(item),
        quotas=quotas,
        admitted=status.get("admittedWorkloads") or 0,
        pending=status.get("pendingWorkloads") or 0,
        inactive=_inactive(status),
        stop_policy=spec.get("stopPolicy") or "None",
        orchestrator=_orchestrator(status),
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


def _quota(
    key: FlavorResource, written: JsonObject, usage: _Amounts, reservation: _Amounts
) -> Quota:
    used, borrowed = usage.get(key, (ZERO, ZERO))
    return Quota(
        flavor=key[0],
        resource=key[1],
        nominal=read_amount(written.get("nominalQuota")),
        borrowing_limit=_limit(written, "borrowingLimit"),
        lending_limit=_limit(written, "lendingLimit"),
        used=used,
        borrowed=borrowed,
        reserved=reservation.get(key, (ZERO, ZERO))[0],
    )


def _orchestrator(status: JsonObject) -> str:
    reference = (status.get("effectiveQuotas") or {}).get("orchestratorRef") or {}
    return f"{reference['kind']} {reference['name']}" if reference else ""


def _limit(written: JsonObject, key: str) -> Decimal | None:
    return None if written.get(key) is None else read_amount(written[key])


def _inactive(status: JsonObject) -> str:
    active = condition(status.get("conditions") or (), "Active")
    if active is None or active.get("status") == "True":
        return ""
    return active.get("message") or active.get("reason") or "Active is not True"
