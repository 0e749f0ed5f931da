"""Who is preempted for whom within a ClusterQueue.

Facts of Kueue 0.19.2: pkg/scheduler/preemption/preemption.go and common/, and
GetQueueOrderTimestamp of pkg/workload/workload.go.
"""

from datetime import datetime
from decimal import Decimal

from shared.api.objects import JsonObject
from shared.api.times import parse_time
from shared.waits.workload import EVICTED
from shared.waits.workload import QUOTA_RESERVED as RESERVED
from tests.simulation.actors.kueue import workloads
from tests.simulation.actors.kueue.quota import fits, used_by
from tests.simulation.actors.kueue.workloads import Reason, has


def preempted(workload: JsonObject, why: str, text: str, now: datetime) -> None:
    """Set Preempted and evict, in one write (IssuePreemptions)."""
    workloads.put(workload, workloads.PREEMPTED, True, why, text, now)
    workloads.evict(workload, Reason.PREEMPTED, text, now)


def queue_order(workload: JsonObject) -> tuple[int, datetime, str]:
    meta = workload["metadata"]
    at = parse_time(meta["creationTimestamp"])
    if workloads.reason(workload, EVICTED) in (Reason.PODS_READY_TIMEOUT, Reason.ADMISSION_CHECK):
        at = workloads.since(workload, EVICTED)
    return -workload["spec"].get("priority", 0), at, meta["uid"]


def victims_of(
    preemptor: JsonObject,
    wanted: dict[str, Decimal],
    holders: list[JsonObject],
    queue: JsonObject,
) -> list[JsonObject]:
    """Return whom to preempt, evicted ones first, then the lowest priority, then the newest."""
    policy = (queue["spec"].get("preemption") or {}).get("withinClusterQueue") or "Never"
    candidates = [each for each in holders if _may_preempt(policy, preemptor, each)]
    candidates.sort(
        key=lambda each: (
            not has(each, EVICTED),
            each["spec"].get("priority", 0),
            -workloads.since(each, RESERVED).timestamp(),
            each["metadata"]["uid"],
        )
    )
    chosen: list[JsonObject] = []
    for each in candidates:
        chosen.append(each)
        if fits(wanted, used_by(_without(holders, chosen)), queue):
            break
    else:
        return []
    for each in reversed(chosen[:-1]):
        fewer = [one for one in chosen if one is not each]
        if fits(wanted, used_by(_without(holders, fewer)), queue):
            chosen = fewer
    return chosen


def _without(holders: list[JsonObject], chosen: list[JsonObject]) -> list[JsonObject]:
    return [each for each in holders if not any(each is one for one in chosen)]


def _may_preempt(policy: str, preemptor: JsonObject, candidate: JsonObject) -> bool:
    (own, began, _), (its, its_began, _) = queue_order(preemptor), queue_order(candidate)
    lower = own < its  # the order has the negated priority
    if policy == "LowerPriority":
        return lower
    if policy == "LowerOrNewerEqualPriority":
        return lower or (own == its and began < its_began)
    return False
