"""Explain a queue that admits nothing, and give Kueue's reasons for a waiting workload. Pure.

The controller writes these texts into the condition QuotaReserved; `appwrapper explain` prints the
same facts in its own sentences.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from sys import intern
from typing import Final

from shared.api.conditions import condition
from shared.api.lines import one_line
from shared.api.objects import JsonObject, controller_of
from shared.waits.words import joined
from shared.waits.workload import (
    EVICTED,
    FINISHED,
    LABEL_OWNER,
    NEW_WORKLOAD,
    QUOTA_RESERVED,
    gave_up,
    has_quota,
    is_active,
    is_finished,
    is_held,
    last_eviction,
    unready_checks,
    was_held,
    why_pending,
)

# The characters kept of each of Kueue's texts: users' names can make them long.
_LONGEST: Final = 600
_NAMED_BY_UID: Final = re.compile(r"a workload \(UID: ([^,()]*)(?:, JobUID: ([^,()]*))?\)")
_UNNAMED: Final = "another workload"


@dataclass(frozen=True, slots=True)
class Queue:
    """A LocalQueue or a ClusterQueue. `inactive` is Kueue's reason why it admits nothing."""

    kind: str
    name: str
    cluster_queue: str = ""  # of a LocalQueue
    stop_policy: str = "None"
    inactive: str = ""


@dataclass(frozen=True, slots=True)
class QueueTrouble:
    """Why a queue admits nothing. `missing`: the queue of this Kind and name does not exist.

    `by_admin`: the spec itself blocks the queue, so only a change of the spec ends it.
    """

    text: str
    missing: tuple[str, str] | None = None
    by_admin: bool = True


def local_queue(item: JsonObject) -> Queue:
    """Read a LocalQueue of Kueue."""
    return _queue("LocalQueue", item)


def cluster_queue(item: JsonObject) -> Queue:
    """Read a ClusterQueue of Kueue."""
    return _queue("ClusterQueue", item)


def _queue(kind: str, item: JsonObject) -> Queue:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    active = condition(status.get("conditions") or (), "Active") or {}
    inactive = ""
    if active.get("status") == "False":
        inactive = f"({active.get('reason')}): {active.get('message')}".rstrip(".")
    return Queue(
        kind=kind,
        name=str(item["metadata"]["name"]),
        cluster_queue=str(spec.get("clusterQueue") or ""),
        stop_policy=str(spec.get("stopPolicy") or "None"),
        inactive=inactive,
    )


def queue_trouble(
    namespace: str, name: str, local: Queue | None, cluster: Queue | None
) -> QueueTrouble | None:
    """Return why LocalQueue `name` admits nothing; None if it is not known to be unusable.

    A queue that is None does not exist.
    """
    if local is None:
        text = (
            f"LocalQueue {name} does not exist in namespace {namespace}. Create it, or set the"
            " label kueue.x-k8s.io/queue-name to another queue (kubectl get localqueues)"
        )
        return QueueTrouble(text, ("LocalQueue", name))
    if cluster is None and not local.cluster_queue:
        text = f"LocalQueue {name} names no ClusterQueue. An admin must set spec.clusterQueue"
        return QueueTrouble(text, ("ClusterQueue", ""))
    if cluster is None:
        text = (
            f"ClusterQueue {local.cluster_queue} of LocalQueue {name} does not exist. An admin"
            " must create it"
        )
        return QueueTrouble(text, ("ClusterQueue", local.cluster_queue))
    for each in (local, cluster):
        if stopped := stopped_text(each):
            return QueueTrouble(stopped)
    for each in (cluster, local):
        if inactive := inactive_text(each):
            return QueueTrouble(inactive, by_admin=False)
    return None


def stopped_text(queue: Queue) -> str:
    """Return who stopped the queue; empty if it is not stopped."""
    if queue.stop_policy == "None":
        return ""
    return (
        f"an admin stopped {queue.kind} {queue.name} (stopPolicy: {queue.stop_policy})."
        " Kueue admits from it again when stopPolicy is None"
    )


def inactive_text(queue: Queue) -> str:
    """Return why Kueue calls the queue inactive; empty if it does not."""
    return f"{queue.kind} {queue.name} is inactive {queue.inactive}" if queue.inactive else ""


# The part of a Workload that explains a wait.


@dataclass(frozen=True, slots=True)
class WaitingWorkload:
    """`pending` is Kueue's reason to wait, `evicted` its reason for the lost quota.

    Both are empty unless an AppWrapper is the owner. `considered`: Kueue has reported on its quota.
    `held`: the controller deactivated it.
    """

    namespace: str
    name: str
    uid: str
    owner_uid: str
    owner_kind: str
    owner_name: str
    created: str
    pending: str = ""
    evicted: str = ""
    considered: bool = False
    held: bool = False


def waiting_workload(item: JsonObject) -> WaitingWorkload:
    """Read a Workload of Kueue."""
    metadata, owner = item["metadata"], controller_of(item)
    conditions = (item.get("status") or {}).get("conditions") or ()
    is_wrapped = owner is not None and owner.kind == "AppWrapper"
    uid = owner.uid if owner else (metadata.get("labels") or {}).get(LABEL_OWNER) or ""
    eviction = last_eviction(item) if is_wrapped else None
    evicted = ""
    if eviction is not None and not has_quota(item) and not was_held(item):
        evicted = one_line(f"{eviction.reason}: {eviction.message}", _LONGEST)
    return WaitingWorkload(
        namespace=intern(metadata["namespace"]),
        name=metadata["name"],
        uid=metadata["uid"],
        owner_uid=uid,
        owner_kind=intern(owner.kind if owner else "Workload"),
        owner_name=owner.name if owner else metadata["name"],
        created=metadata.get("creationTimestamp") or "",
        pending=intern(one_line(pending_text(item), _LONGEST)) if is_wrapped else "",
        evicted=intern(evicted),
        considered=condition(conditions, QUOTA_RESERVED) is not None,
        held=is_held(item),
    )


def pending_text(item: JsonObject) -> str:
    """Return why a Workload waits, as the end of a sentence; "" if Kueue gives no reason.

    "" too for a held one: its AppWrapper reports the hold.
    """
    name = item["metadata"]["name"]
    if is_finished(item):
        found = condition((item.get("status") or {}).get("conditions") or (), FINISHED) or {}
        why = ": ".join(filter(None, [found.get("reason"), found.get("message")])).rstrip(".")
        return f"its Workload {name} is finished ({why}). Delete the AppWrapper and create it again"
    if gave_up(item):
        return f"Kueue took its Workload {name} out of the queue for good. {NEW_WORKLOAD}"
    if not is_active(item) and is_held(item):
        return ""
    if not is_active(item):
        return (
            f"its Workload {name} is out of the queue, because its spec.active is false. Kueue"
            " queues it again once that is true"
        )
    if has_quota(item) and (checks := unready_checks(item)):
        return f"its quota is reserved. {checks_text(checks)}"
    words = why_pending(item)
    if words is None or words.condition == EVICTED:
        return ""
    again = ((item.get("status") or {}).get("requeueState") or {}).get("requeueAt")
    after = f". Kueue queues it again at {again}" if again and not has_quota(item) else ""
    return f"{words.message.rstrip('. ')}{after}"


def checks_text(checks: tuple[JsonObject, ...]) -> str:
    """Return the admission checks that are not ready, with their states and messages."""
    named = joined([f"{each.get('name')} ({each.get('state')})" for each in checks])
    messages = [f"{each.get('name')}: {each['message']}" for each in checks if each.get("message")]
    return ". ".join([f"Admission checks that are not ready: {named}", *messages])


def with_names(text: str, name_of: Callable[[str, str], str]) -> str:
    """Replace the UIDs of a preemptor by its name.

    `name_of` gets the UID of the Workload and that of its owner; it returns "" if unknown.
    """
    return _NAMED_BY_UID.sub(lambda found: name_of(*found.groups("")) or _UNNAMED, text)


# The condition's message keeps its earlier text, for example an eviction, before Kueue's reason.

_KUEUE_REPORTS: Final = "Kueue reports: "


def with_kueues_reason(before: str, reason: str) -> str:
    """Return the message of QuotaReserved with Kueue's reason after `before`."""
    return f"{before} {_KUEUE_REPORTS}{reason}".lstrip()


def without_kueues_reason(message: str) -> str:
    """Return the part of a message before Kueue's reason."""
    return message.partition(_KUEUE_REPORTS)[0].rstrip()


def kueues_reason(message: str) -> str:
    """Return the part of a message that is Kueue's reason; "" without one."""
    return message.partition(_KUEUE_REPORTS)[2]
