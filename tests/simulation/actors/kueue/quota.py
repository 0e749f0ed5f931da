"""Count the quota in use, and report each release at once.

Facts of Kueue 0.19.2: the event handlers of pkg/controller/core/workload_controller.go decide from
the Workload alone what the scheduler's cache counts.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final

from shared.api.amounts import added_up
from shared.api.objects import JsonObject
from shared.api.quantities import parse_quantity
from shared.waits.workload import FINISHED, WORKLOADS, is_held
from tests.simulation.actors.kueue.workloads import has, holds_quota, is_active, owner_uid, reason
from tests.simulation.api.store import Store, Write


class Why(StrEnum):
    """Why quota became free.

    Kueue waits for the AppWrapper only before the first two, and the controller before HELD.
    """

    FINISHED = "the AppWrapper reported its end"
    STOPPED = "the evicted AppWrapper reported that it stopped"
    HELD = "the controller deactivated the Workload because of a hold"
    DEACTIVATED = "the Workload was deactivated"
    ORPHANED = "the AppWrapper was being deleted"
    DELETED = "the Workload was deleted"


WAITED_FOR: Final = frozenset({Why.FINISHED, Why.STOPPED, Why.HELD})


@dataclass(frozen=True, slots=True)
class Release:
    """Kueue gave the quota of an AppWrapper back; `uid` is the AppWrapper's."""

    uid: str
    why: Why
    at: float


class Quota:
    """The quota in use. `listeners` hear of each release within the write that causes it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.listeners: list[Callable[[Release], None]] = []
        store.listeners.append(self._see)

    def holders(self, queue: str) -> list[JsonObject]:
        """Return the Workloads that hold quota of the ClusterQueue."""
        return [
            each
            for each in self._store.items(WORKLOADS)
            if holds_quota(each) and each["status"]["admission"]["clusterQueue"] == queue
        ]

    def _see(self, write: Write) -> None:
        if write.resource != WORKLOADS or write.type == "ADDED":
            return
        old = write.old or write.item
        gone = write.type == "DELETED"
        if not holds_quota(old) or (holds_quota(write.item) and not gone):
            return
        release = Release(owner_uid(old), _why(write.item, gone), write.at)
        for each in self.listeners:
            each(release)


def _why(workload: JsonObject, gone: bool) -> Why:
    if has(workload, FINISHED):
        orphaned = reason(workload, FINISHED) == "OwnerNotFound"
        return Why.ORPHANED if orphaned else Why.FINISHED
    if gone:
        return Why.DELETED
    if is_active(workload):
        return Why.STOPPED
    return Why.HELD if is_held(workload) else Why.DEACTIVATED


def used_by(workloads: Iterable[JsonObject]) -> dict[str, Decimal]:
    """Return the sum of what these admitted Workloads hold, by resource."""
    return added_up(
        {name: parse_quantity(amount) for name, amount in each["resourceUsage"].items()}
        for workload in workloads
        for each in workload["status"]["admission"]["podSetAssignments"]
    )


def capacity_of(cluster_queue: JsonObject) -> dict[str, Decimal]:
    """Return the nominal quota of the first flavor of each resource group."""
    found: dict[str, Decimal] = {}
    for group in cluster_queue["spec"].get("resourceGroups") or ():
        for each in group["flavors"][0]["resources"]:
            found[each["name"]] = parse_quantity(each["nominalQuota"])
    return found


def flavors_of(cluster_queue: JsonObject) -> dict[str, str]:
    """Return the first flavor of each covered resource."""
    return {
        each["name"]: group["flavors"][0]["name"]
        for group in cluster_queue["spec"].get("resourceGroups") or ()
        for each in group["flavors"][0]["resources"]
    }


def fits(wanted: Mapping[str, Decimal], used: Mapping[str, Decimal], all_: JsonObject) -> bool:
    """True if the ClusterQueue covers every resource and has enough left of it."""
    capacity = capacity_of(all_)
    return all(
        name in capacity and used.get(name, Decimal()) + amount <= capacity[name]
        for name, amount in wanted.items()
    )
