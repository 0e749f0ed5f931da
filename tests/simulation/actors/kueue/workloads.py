"""Read and change a Workload as all parts of Kueue do.

Facts of Kueue 0.19.2: pkg/workload/workload.go, pkg/workload/admissionchecks.go and
pkg/workload/evict/evict.go, with the feature gate UnadmittedWorkloadsObservability off (default).
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha1
from typing import Any, Final

from shared.api.conditions import condition, is_true, with_condition
from shared.api.objects import JsonObject, controller_of
from shared.api.times import format_time, parse_time
from shared.waits.workload import ADMITTED, EVICTED, FINISHED, QUOTA_RESERVED, REQUEUED

FINALIZER: Final = "kueue.x-k8s.io/resource-in-use"
PODS_READY: Final = "PodsReady"
PREEMPTED: Final = "Preempted"
DEACTIVATION_TARGET: Final = "DeactivationTarget"
_LONGEST_PREFIX: Final = 253 - 6


class Reason(StrEnum):
    """Reasons of Kueue's conditions."""

    PREEMPTED = "Preempted"
    NODE_FAILURES = "NodeFailures"
    PODS_READY_TIMEOUT = "PodsReadyTimeout"
    ADMISSION_CHECK = "AdmissionCheck"
    CLUSTER_QUEUE_STOPPED = "ClusterQueueStopped"
    LOCAL_QUEUE_STOPPED = "LocalQueueStopped"
    DEACTIVATED = "Deactivated"
    REQUEUING_LIMIT = "RequeuingLimitExceeded"
    MAXIMUM_TIME = "MaximumExecutionTimeExceeded"
    WAIT_FOR_START = "WaitForStart"
    WAIT_FOR_RECOVERY = "WaitForRecovery"
    STARTED = "Started"
    RECOVERED = "Recovered"
    PENDING = "Pending"
    INADMISSIBLE = "Inadmissible"


REQUEUED_AT_ONCE: Final = frozenset({Reason.PREEMPTED, Reason.NODE_FAILURES})


def name_of(owner: JsonObject) -> str:
    """Return the name of the Workload that Kueue makes for an AppWrapper (workload_names.go)."""
    name, uid = owner["metadata"]["name"], owner["metadata"]["uid"]
    text = f"AppWrapper\nworkload.codeflare.dev\n{name}\n{uid}"
    digest = sha1(text.encode(), usedforsecurity=False).hexdigest()
    return f"{f'appwrapper-{name}'[:_LONGEST_PREFIX]}-{digest[:5]}"


def place(item: JsonObject) -> tuple[str, str]:
    """Return namespace and name."""
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def conditions(item: JsonObject) -> list[JsonObject]:
    return (item.get("status") or {}).get("conditions") or []


def has(item: JsonObject, kind: str) -> bool:
    """True if the condition is True."""
    return is_true(conditions(item), kind)


def reason(item: JsonObject, kind: str, status: str = "True") -> str:
    """Return the reason of a condition with that status; empty without it."""
    found = condition(conditions(item), kind) or {}
    return str(found.get("reason") or "") if found.get("status") == status else ""


def message(item: JsonObject, kind: str) -> str:
    """Return the message of a condition; empty without it."""
    return str((condition(conditions(item), kind) or {}).get("message") or "")


def since(item: JsonObject, kind: str) -> datetime:
    """Return when a condition, which exists, got its status."""
    return parse_time((condition(conditions(item), kind) or {})["lastTransitionTime"])


def put(item: JsonObject, kind: str, status: bool, why: str, text: str, now: datetime) -> None:
    """Set a condition in place."""
    holder = item.setdefault("status", {})
    wanted = "True" if status else "False"
    holder["conditions"] = with_condition(conditions(item), kind, wanted, why, text, now)


def drop(item: JsonObject, kind: str) -> None:
    """Remove a condition in place."""
    holder = item.setdefault("status", {})
    holder["conditions"] = [each for each in conditions(item) if each["type"] != kind]


def owner_uid(workload: JsonObject) -> str:
    owner = controller_of(workload)
    return owner.uid if owner else ""


def is_active(workload: JsonObject) -> bool:
    return (workload.get("spec") or {}).get("active") is not False


def is_going(item: JsonObject) -> bool:
    return "deletionTimestamp" in item["metadata"]


def holds_quota(workload: JsonObject) -> bool:
    """True if the scheduler counts its requests.

    The event handler of workload_controller.go removes a Workload that is finished or inactive from
    the cache at once. It does not wait until the job has stopped.
    """
    return has(workload, QUOTA_RESERVED) and not has(workload, FINISHED) and is_active(workload)


def is_admissible(workload: JsonObject) -> bool:
    """True if a queue may hold the Workload."""
    return not (has(workload, FINISHED) or has(workload, QUOTA_RESERVED)) and is_active(workload)


def requeue_at(workload: JsonObject) -> datetime | None:
    """Return until when it must wait before the scheduler reads it again; None: no such wait."""
    text = ((workload.get("status") or {}).get("requeueState") or {}).get("requeueAt")
    return parse_time(text) if text else None


def may_be_tried(workload: JsonObject, now: datetime) -> bool:
    """True if its backoff is over (backoffWaitingTimeExpired of pkg/cache/queue)."""
    if reason(workload, REQUEUED, "False"):
        return False
    at = requeue_at(workload)
    return at is None or now >= at


def checks(workload: JsonObject, *states: str) -> list[JsonObject]:
    """Return the admission checks in one of these states; without states, all."""
    found: list[JsonObject] = (workload.get("status") or {}).get("admissionChecks") or []
    return [each for each in found if not states or each["state"] in states]


# Changes.


def sync_admitted(workload: JsonObject, now: datetime) -> None:
    """Set Admitted from QuotaReserved and the admission checks."""
    reserved = has(workload, QUOTA_RESERVED)
    ready = not checks(workload, "Pending", "Retry", "Rejected")
    admitted = has(workload, ADMITTED)
    if admitted == (reserved and ready):
        return
    if admitted:
        ran = int((now - since(workload, ADMITTED)).total_seconds())
        status = workload["status"]
        past = status.get("accumulatedPastExecutionTimeSeconds") or 0
        status["accumulatedPastExecutionTimeSeconds"] = past + ran
    match reserved, ready:
        case True, True:
            put(workload, ADMITTED, True, "Admitted", "The workload is admitted", now)
        case True, False:
            text = "The workload has not all checks ready"
            put(workload, ADMITTED, False, "UnsatisfiedChecks", text, now)
        case False, True:
            text = "The workload has no reservation"
            put(workload, ADMITTED, False, "NoReservation", text, now)
        case _:
            text = "The workload has no reservation and not all checks ready"
            put(workload, ADMITTED, False, "NoReservationUnsatisfiedChecks", text, now)


def reserve(workload: JsonObject, admission: JsonObject, now: datetime) -> None:
    """Write the quota reservation. It resets Evicted and Preempted."""
    workload.setdefault("status", {})["admission"] = admission
    queue = admission["clusterQueue"]
    text = f"Quota reserved in ClusterQueue {queue}"
    put(workload, QUOTA_RESERVED, True, "QuotaReserved", text, now)
    for kind in (EVICTED, PREEMPTED):
        old = condition(conditions(workload), kind)
        if old is not None and old["status"] == "True":
            text = f"Previously: {old.get('message')}"
            put(workload, kind, False, "QuotaReserved", text, now)


def unreserve(workload: JsonObject, why: str, text: str, now: datetime) -> None:
    """Take the reservation back, or report why there is none."""
    put(workload, QUOTA_RESERVED, False, why, text, now)
    workload["status"].pop("admission", None)
    sync_admitted(workload, now)


def evict(workload: JsonObject, why: str, text: str, now: datetime, *, cause: str = "") -> None:
    """Set Evicted, count the eviction, and set all admission checks to Pending.

    The Workload keeps its reservation until its job has stopped.
    """
    full_reason = f"{why}DueTo{cause}" if why == Reason.DEACTIVATED and cause else why
    put(workload, EVICTED, True, full_reason, text, now)
    for each in checks(workload, "Ready", "Retry", "Rejected"):
        each.update(state="Pending", lastTransitionTime=format_time(now))
    status = workload["status"]
    counts: list[JsonObject] = status.setdefault("schedulingStats", {}).setdefault("evictions", [])
    for each in counts:
        if (each["reason"], each.get("underlyingCause", "")) == (why, cause):
            each["count"] += 1
            return
    counts.append({"reason": why, "underlyingCause": cause, "count": 1})


def put_off(workload: JsonObject, first: int, longest: int, now: datetime) -> None:
    """Count one requeueing, and let the Workload wait: twice as long each time."""
    state: dict[str, Any] = workload["status"].setdefault("requeueState", {})
    count = state.get("count", 0) + 1
    wait = min(longest, first * 2 ** (count - 1))
    state.update(count=count, requeueAt=format_time(now + timedelta(seconds=wait)))


def finish(workload: JsonObject, why: str, text: str, now: datetime) -> None:
    if not has(workload, FINISHED):
        put(workload, FINISHED, True, why, text, now)


def without_finalizer(workload: JsonObject) -> None:
    """Remove Kueue's finalizer in place."""
    metadata = workload["metadata"]
    kept = [each for each in metadata.get("finalizers") or () if each != FINALIZER]
    metadata["finalizers"] = kept
    if not kept:
        del metadata["finalizers"]


def of_owner(workloads: list[JsonObject], name: str) -> Iterator[JsonObject]:
    """Yield the Workloads of AppWrappers with that name, whatever their UID."""
    for each in workloads:
        owner = controller_of(each)
        if owner is not None and owner.kind == "AppWrapper" and owner.name == name:
            yield each
