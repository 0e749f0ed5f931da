"""Read a Workload of Kueue: its requests, its quota, and Kueue's reasons why it waits. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from shared.api.amounts import Amounts, added_up, read_amounts
from shared.api.conditions import condition, is_true, transition_time
from shared.api.names import ANNOTATION_DEACTIVATED
from shared.api.objects import JsonObject, Resource, annotation, controller_of
from shared.api.pod_requests import all_requested
from shared.api.times import parse_time, time_or_none

WORKLOADS: Final = Resource("kueue.x-k8s.io", "v1beta2", "workloads", "Workload")
# Kueue sets it on every Workload to the UID of the object that the Workload is for.
LABEL_OWNER: Final = "kueue.x-k8s.io/job-uid"

QUOTA_RESERVED: Final = "QuotaReserved"
ADMITTED: Final = "Admitted"
EVICTED: Final = "Evicted"
PREEMPTED: Final = "Preempted"  # a reason of Evicted: another workload needed its quota
REQUEUED: Final = "Requeued"
FINISHED: Final = "Finished"
_DEACTIVATED: Final = "Deactivated"  # by a client; a limit of Kueue appends its cause
# Reasons of QuotaReserved False since Kueue 0.19 with its feature gate
# UnadmittedWorkloadsObservability. Otherwise the reason is Pending, and only the message explains
# it.
EXCEEDS_MAX_QUOTA: Final = "ExceedsMaxQuota"
NO_MATCHING_FLAVOR: Final = "NoMatchingFlavor"
_POD_SET: Final = re.compile(r"couldn't assign flavors to pod set [^\s:]+: ")
_WRONG_FLAVOR: Final = re.compile(
    r"flavor [^\s,;]+ doesn't match node affinity|untolerated taint \{[^}]*\} in flavor [^\s,;]+"
)


@dataclass(frozen=True, slots=True)
class PodSetAsk:
    """`count` pods that each request `each`.

    `counted` is Kueue's count for all of them, once it is in the status. Kueue's configuration may
    exclude resources (excludeResourcePrefixes) or count others instead (transformations).
    """

    name: str
    count: int
    each: Mapping[str, Decimal]
    counted: Mapping[str, Decimal] | None = None

    @property
    def total(self) -> dict[str, Decimal]:
        """Return the sum of all its pods."""
        return {name: amount * self.count for name, amount in self.each.items()}

    @property
    def quota(self) -> dict[str, Decimal]:
        """Return the quota that it needs. The number of pods counts if a queue covers it."""
        amounts = self.total if self.counted is None else self.counted
        return {**amounts, "pods": Decimal(self.count)}


@dataclass(frozen=True, slots=True)
class Words:
    """A Workload condition's text, and since when it holds."""

    condition: str
    reason: str
    message: str
    since: datetime | None = None


def workload_of(workloads: Iterable[JsonObject], owner_uid: str) -> JsonObject | None:
    """Return Kueue's Workload for the object with that UID; the newest if there are several."""
    own = [
        each
        for each in workloads
        if (each["metadata"].get("labels") or {}).get(LABEL_OWNER) == owner_uid
        or ((owner := controller_of(each)) is not None and owner.uid == owner_uid)
    ]
    return max(own, key=lambda each: each["metadata"].get("creationTimestamp") or "", default=None)


def asks_of(workload: JsonObject) -> tuple[PodSetAsk, ...]:
    """Return one per pod set, with the request of one of its pods."""
    counted = {
        each["name"]: read_amounts(each.get("resources"))
        for each in (workload.get("status") or {}).get("resourceRequests") or ()
    }
    return tuple(
        PodSetAsk(
            each.get("name") or "main",
            int(each.get("count") or 0),
            all_requested((each.get("template") or {}).get("spec") or {}),
            counted.get(each.get("name") or "main"),
        )
        for each in (workload.get("spec") or {}).get("podSets") or ()
    )


def has_quota(workload: JsonObject) -> bool:
    """True if Kueue has reserved its quota, admitted or not."""
    return is_true(_conditions(workload), QUOTA_RESERVED)


def is_finished(workload: JsonObject) -> bool:
    """True if it holds no quota any more and waits for nothing."""
    return is_true(_conditions(workload), FINISHED)


def is_active(workload: JsonObject) -> bool:
    """False if a client, or Kueue itself, removed it from the queue."""
    return (workload.get("spec") or {}).get("active") is not False


def is_held(workload: JsonObject) -> bool:
    """True if the controller deactivated it because a user holds its AppWrapper."""
    return annotation(workload, ANNOTATION_DEACTIVATED) == "true"


def was_held(workload: JsonObject) -> bool:
    """True if a hold caused its last eviction, even if the hold is over."""
    words = last_eviction(workload)
    marked = annotation(workload, ANNOTATION_DEACTIVATED) is not None
    return marked and words is not None and words.reason == _DEACTIVATED


def why_pending(workload: JsonObject) -> Words | None:
    """Return Kueue's reason why it may not start; None if it may, or without a reason.

    An eviction under way takes precedence, then the quota, then admission checks.
    """
    conditions = _conditions(workload)
    if is_true(conditions, ADMITTED) and not is_true(conditions, EVICTED):
        return None
    evicted = _words(conditions, EVICTED, "True")
    quota = _words(conditions, QUOTA_RESERVED, "False")
    if evicted and not quota:
        return evicted
    return quota or _words(conditions, ADMITTED, "False") or evicted


def fits_no_flavor(words: Words) -> bool:
    """True if a pod set's selectors, affinities and tolerations fit no flavor at all."""
    if words.reason == NO_MATCHING_FLAVOR:
        return True
    pod_sets = _POD_SET.split(words.message)[1:]
    return any(not _WRONG_FLAVOR.sub("", each).strip(" ,;") for each in pod_sets)


def last_eviction(workload: JsonObject) -> Words | None:
    """Return why it last lost its quota; Kueue keeps this until the next admission."""
    return _words(_conditions(workload), EVICTED, "True")


NEW_WORKLOAD: Final = "An admin can delete the Workload: Kueue then makes a new one, and queues it"


def gave_up(workload: JsonObject) -> bool:
    """True if Kueue deactivated it by a limit, such as requeuingStrategy.backoffLimitCount.

    Kueue 0.19 never queues it again, even if spec.active becomes true: its workload controller
    knows the reason Deactivated only, without a cause. Kueue queues a new Workload.
    """
    words = last_eviction(workload)
    return words is not None and words.reason.startswith("DeactivatedDueTo")


_PODS_READY_TIMEOUT: Final = "PodsReadyTimeout"
# After as many evictions as `requeuingStrategy.backoffLimitCount` allows. Kueue sets the
# Workload's spec.active to false, and never queues this Workload again (`gave_up`).
_GIVEN_UP: Final = "DeactivatedDueToRequeuingLimitExceeded"


@dataclass(frozen=True, slots=True)
class PodsReadyEviction:
    """Kueue's eviction of a Workload whose pods were not ready within waitForPodsReady.

    `count`: the number of such evictions.
    """

    workload: str
    count: int


def pods_ready_eviction(workload: JsonObject) -> PodsReadyEviction | None:
    """Return the eviction in force if its reason is late pods; None for other reasons.

    Kueue resets the condition at the next admission. Its statistics hold the counts, by reason
    and by the pods that were late (at the first start, or at a recovery).
    """
    evicted = last_eviction(workload)
    if evicted is None or evicted.reason not in (_PODS_READY_TIMEOUT, _GIVEN_UP):
        return None
    statistics = (workload.get("status") or {}).get("schedulingStats") or {}
    count = sum(
        each.get("count") or 0
        for each in statistics.get("evictions") or ()
        if each.get("reason") == _PODS_READY_TIMEOUT
    )
    return PodsReadyEviction(workload["metadata"]["name"], count or 1)


def requeued_at(workload: JsonObject) -> datetime | None:
    """Return when Kueue considers it again: it was evicted, and backs off."""
    state = (workload.get("status") or {}).get("requeueState") or {}
    return time_or_none(state.get("requeueAt"))


def unready_checks(workload: JsonObject) -> tuple[JsonObject, ...]:
    """Return the admission checks that are not Ready."""
    checks = (workload.get("status") or {}).get("admissionChecks") or ()
    return tuple(each for each in checks if each.get("state") != "Ready")


def priority_of(workload: JsonObject) -> tuple[int, str]:
    """Return its priority and the name of its priority class; empty if it has none."""
    spec = workload.get("spec") or {}
    name = (spec.get("priorityClassRef") or {}).get("name") or spec.get("priorityClassName") or ""
    return int(spec.get("priority") or 0), name


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A workload that holds quota of a ClusterQueue. `amounts`: of all flavors, by resource."""

    namespace: str
    kind: str
    name: str
    cluster_queue: str
    priority: int
    priority_class: str
    amounts: Amounts
    since: datetime | None = None


def holders(workloads: Iterable[JsonObject]) -> tuple[Holder, ...]:
    """Return the holders of quota: the highest priority first, then the oldest."""
    found = [
        _holder(each)
        for each in workloads
        if has_quota(each) and not is_finished(each) and _admission(each).get("clusterQueue")
    ]
    found.sort(key=lambda each: (-each.priority, each.since or _LAST, each.namespace, each.name))
    return tuple(found)


_LAST: Final = parse_time("9999-01-01T00:00:00Z")


def _holder(workload: JsonObject) -> Holder:
    admission, metadata = _admission(workload), workload["metadata"]
    owner = controller_of(workload)
    pod_sets = admission.get("podSetAssignments") or ()
    priority, name = priority_of(workload)
    return Holder(
        namespace=metadata["namespace"],
        kind=owner.kind if owner else "Workload",
        name=owner.name if owner else metadata["name"],
        cluster_queue=str(admission["clusterQueue"]),
        priority=priority,
        priority_class=name,
        amounts=added_up(read_amounts(each.get("resourceUsage")) for each in pod_sets),
        since=transition_time(_conditions(workload), QUOTA_RESERVED),
    )


def _admission(workload: JsonObject) -> JsonObject:
    return (workload.get("status") or {}).get("admission") or {}


def _conditions(workload: JsonObject) -> list[JsonObject]:
    return (workload.get("status") or {}).get("conditions") or []


def _words(conditions: list[JsonObject], kind: str, status: str) -> Words | None:
    found = condition(conditions, kind)
    if found is None or found.get("status") != status:
        return None
    since = transition_time(conditions, kind)
    return Words(kind, found.get("reason") or "", found.get("message") or "", since)
