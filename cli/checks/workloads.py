"""Read Kueue's Workloads, and pods that hold devices. Pure."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Final

from shared.api.amounts import Amounts, added_up
from shared.api.conditions import condition, is_true, transition_time
from shared.api.objects import JsonObject, controller_of
from shared.api.pod_requests import all_requested
from shared.waits.queueing import with_names
from shared.waits.workload import (
    ADMITTED,
    PREEMPTED,
    QUOTA_RESERVED,
    PodSetAsk,
    asks_of,
    gave_up,
    has_quota,
    is_active,
    is_finished,
    is_held,
    last_eviction,
    priority_of,
    was_held,
)

GPU: Final = "nvidia.com/gpu"
DEFAULT_SCHEDULER: Final = "default-scheduler"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadFacts:
    """One Workload. `owner`: the object that the user submitted (`AppWrapper train`)."""

    namespace: str
    name: str
    owner: str
    queue: str
    priority: int | None
    priority_class: str
    pod_sets: tuple[PodSetAsk, ...]
    # The pod sets that use Kubernetes' own scheduler, by name.
    by_default_scheduler: frozenset[str]
    created: str
    admitted: bool
    finished: bool
    active: bool
    pending_reason: str = ""  # Kueue's message while it waits
    evicted: str = ""  # Kueue's reason and message, while Evicted is True
    preempted: bool = False  # Kueue evicted it for another workload, as a queue should
    gave_up: bool = False  # a limit of Kueue deactivated it
    held: bool = False  # it is deactivated because a user holds its AppWrapper
    unready_since: datetime | None = None  # set if the workload is admitted and not ready
    uid: str = ""
    owner_uid: str = ""

    @property
    def about(self) -> str:
        return f"workload {self.namespace}/{self.owner or self.name}"

    @property
    def submitted(self) -> str:
        """The name of the object that the user submitted."""
        return self.owner.partition(" ")[2] or self.name

    @property
    def amounts(self) -> dict[str, Decimal]:
        """The requests of all pods together."""
        return added_up(each.total for each in self.pod_sets)


def workload_facts(item: JsonObject) -> WorkloadFacts:
    metadata, spec, status = item["metadata"], item.get("spec") or {}, item.get("status") or {}
    conditions = status.get("conditions") or []
    owner = controller_of(item)
    eviction = None if was_held(item) else last_eviction(item)
    admitted = is_true(conditions, ADMITTED)
    quota = condition(conditions, QUOTA_RESERVED) or {}
    return WorkloadFacts(
        namespace=metadata["namespace"],
        name=metadata["name"],
        owner=f"{owner.kind} {owner.name}" if owner else "",
        queue=spec.get("queueName") or "",
        priority=spec.get("priority"),
        priority_class=priority_of(item)[1],
        pod_sets=asks_of(item),
        by_default_scheduler=frozenset(
            each.get("name") or "main"
            for each in spec.get("podSets") or ()
            if _scheduler(each) in (None, "", DEFAULT_SCHEDULER)
        ),
        created=metadata.get("creationTimestamp") or "",
        admitted=admitted,
        finished=is_finished(item),
        active=is_active(item),
        pending_reason="" if has_quota(item) else quota.get("message") or "",
        evicted=": ".join(filter(None, [eviction.reason, eviction.message])) if eviction else "",
        preempted=eviction is not None and eviction.reason == PREEMPTED,
        gave_up=gave_up(item),
        held=is_held(item),
        unready_since=_unready_since(conditions) if admitted else None,
        uid=metadata.get("uid") or "",
        owner_uid=owner.uid if owner else "",
    )


def with_named_preemptors(workloads: Iterable[WorkloadFacts]) -> tuple[WorkloadFacts, ...]:
    """Replace UIDs in Kueue's messages by names, as far as these workloads show them."""
    known = tuple(workloads)
    names = {
        uid: f"{each.owner or f'Workload {each.name}'} of namespace {each.namespace}"
        for each in known
        for uid in (each.uid, each.owner_uid)
        if uid
    }

    def named(text: str) -> str:
        return with_names(text, lambda *uids: next(filter(None, map(names.get, uids)), ""))

    return tuple(
        replace(each, pending_reason=named(each.pending_reason), evicted=named(each.evicted))
        for each in known
    )


def _scheduler(pod_set: JsonObject) -> str | None:
    found: str | None = ((pod_set.get("template") or {}).get("spec") or {}).get("schedulerName")
    return found


def _unready_since(conditions: list[JsonObject]) -> datetime | None:
    """Return the time since which the pods are not ready; None if they are, or if it is unknown.

    Kueue writes PodsReady only if waitForPodsReady is on.
    """
    ready = condition(conditions, "PodsReady")
    if ready is None or ready.get("status") == "True":
        return None
    # PodsReady may be False since the workload was queued. Before admission no pod could be ready.
    moments = (transition_time(conditions, kind) for kind in ("PodsReady", "Admitted"))
    return max((each for each in moments if each), default=None)


@dataclass(frozen=True, slots=True)
class HoldingPod:
    """A pod on a node, with requests for devices there."""

    namespace: str
    name: str
    node: str
    amounts: Amounts


def holding_pods(
    items: Iterable[JsonObject], resources: Collection[str] = (GPU,)
) -> list[HoldingPod]:
    """Return the pods that are bound to a node, have not ended and request such a resource."""
    found = []
    for item in items:
        spec, phase = item.get("spec") or {}, (item.get("status") or {}).get("phase")
        if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
            continue
        wanted = all_requested(spec)
        if any(wanted.get(each) for each in resources):
            metadata = item["metadata"]
            found.append(
                HoldingPod(metadata["namespace"], metadata["name"], spec["nodeName"], wanted)
            )
    return found
