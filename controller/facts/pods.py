"""Pods as facts: projected from the API server's objects, with the causes of failures."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from sys import intern
from typing import Final

from controller.facts.container_ends import (
    ContainerEnd,
    containers,
    deletion_requested,
    ends_before_deletion,
    ends_of_failed,
    ends_of_looping,
    ends_of_stuck,
    exit_codes,
    failed_at,
)
from controller.facts.pod_reasons import TELLS_NOTHING
from controller.facts.scheduling import ignored_by_scheduler, placement, scheduler_message
from shared.api.conditions import condition
from shared.api.names import LABEL_APPWRAPPER, LABEL_ATTEMPT, LABEL_COMPONENT, LABEL_UID
from shared.api.objects import JsonObject, Owner, controller_of
from shared.api.pod_requests import all_requested
from shared.api.times import format_time, parse_time
from shared.injection.anti_affinity import requested_resources
from shared.kinds.job_set import IN_PLACE_RESTART_ATTEMPT
from shared.kinds.table import KINDS

# Whether containers of a running pod crash again and again in place.
#
# Under restartPolicy OnFailure or Always the pod's phase remains Running, so the states of its
# containers count:
#
# - One restart is no loop, whatever its cause (a crash, a liveness probe, a reboot of the node).
# - A loop begins with the second end, if that ended a short run. The kubelet resets its back-off
#   after a run of ten minutes. So two restarts a week ago are no loop, nor is a third one now.
# - A loop lasts until the container has run for the stability period since its last start.
# - A container that ended finally (exit code 0 under OnFailure, any under Never) is in no loop.
# - A container that ended and cannot restart (its image or Secret is gone) counts as not running.
# - Init containers and sidecars do not count. While init containers run, the pod is Pending.
#   Containers that need a failed sidecar crash themselves.
# - Restarts that a JobSet counts (restartStrategy InPlaceRestart) are no loop: also the containers
#   of healthy pods restart, and the JobSet fails above its maxRestarts.

NOT_RUNNING: Final = ""  # a container of the loop is down, for an unknown time
# After such a run the kubelet forgets earlier crashes: twice its longest back-off.
FORGIVEN_AFTER: Final = timedelta(minutes=10)

_CRASH_LOOP: Final = "CrashLoopBackOff"
# Reasons of a waiting container that the kubelet retries without success, or no longer retries.
_STUCK: Final = frozenset(
    {
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "CreateContainerConfigError",
        "CreateContainerError",
    }
)


def crash_loop(spec: JsonObject, status: JsonObject, *, counted: bool = False) -> str | None:
    """Return when the last container in a crash loop was started (RFC 3339); None without one.

    Return NOT_RUNNING if one of them does not run. `counted`: a JobSet counts the restarts.
    """
    found: list[str] = []
    for each in status.get("containerStatuses") or ():
        if not each.get("restartCount") and "running" in (each.get("state") or {}):
            continue  # nearly all of them, nearly always
        if counted and _waits_for(each) not in _STUCK:
            continue
        started = _looping_since(each, _restart_policy(spec, each.get("name")))
        if started is not None:
            found.append(started)
    if not found:
        return None
    return NOT_RUNNING if NOT_RUNNING in found else max(found)


def stable_in(started: str, now: datetime, period: timedelta) -> timedelta | None:
    """Return the wait until a pod with that crash loop counts as running; zero: it does now.

    None: a container must start first. A start in the future, by another clock, counts as now.
    """
    if started == NOT_RUNNING:
        return None
    left = parse_time(started) + period - now
    return max(timedelta(0), min(left, period))


def _restart_policy(spec: JsonObject, name: object) -> str:
    """Return the container's own policy, else the pod's."""
    containers: Iterable[JsonObject] = spec.get("containers") or ()
    own = next((each.get("restartPolicy") for each in containers if each.get("name") == name), None)
    return str(own or spec.get("restartPolicy") or "Always")


def _looping_since(container: JsonObject, policy: str) -> str | None:
    state = container.get("state") or {}
    restarts = container.get("restartCount") or 0
    last_end = (container.get("lastState") or {}).get("terminated")
    if (running := state.get("running")) is not None:
        return running.get("startedAt") if restarts > 1 and _was_short(last_end) else None
    if (ended := state.get("terminated")) is not None:
        for_good = policy == "Never" or (policy != "Always" and not ended.get("exitCode"))
        return NOT_RUNNING if restarts and not for_good and _was_short(ended) else None
    reason = _waits_for(container)
    if reason in _STUCK or (restarts and (reason == _CRASH_LOOP or _was_short(last_end))):
        return NOT_RUNNING
    return None


def _waits_for(container: JsonObject) -> object:
    return ((container.get("state") or {}).get("waiting") or {}).get("reason")


def _was_short(ended: JsonObject | None) -> bool:
    """True if the run that ended was shorter than FORGIVEN_AFTER, or of unknown length."""
    try:
        began, finished = ((ended or {}).get(key) or "" for key in ("startedAt", "finishedAt"))
        return parse_time(finished) - parse_time(began) < FORGIVEN_AFTER
    except ValueError:
        return True


# Why a pod failed or does not start, as Kubernetes' reason.

# Reasons of a waiting container that will start without help.
_ON_ITS_WAY: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
# The kubelet alternates between a try and a pause. Both get one reason, or the pod would seem to
# change every minute.
_ONE_OF_TWO: Final = {"ImagePullBackOff": "ErrImagePull", "CrashLoopBackOff": ""}
# CamelCase, as the API requires, and short enough for a condition: any client may write a status.
# The kubelet appends a resource's name to OutOf: OutOfcpu, OutOfnvidia.com/gpu.
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,47}|OutOf[-._/A-Za-z0-9]{1,128}")


def pod_cause(status: JsonObject, *, deleting: bool = False) -> str:
    """Return `OOMKilled`, `Evicted`, `ErrImagePull`; empty without a useful reason.

    `status` is the pod's. A failed pod's own reason takes precedence, then its disruption, then a
    container's reason: an eviction ends the containers. A running pod has a cause only while a
    disruption deletes it.
    """
    phase = status.get("phase")
    if phase == "Failed":
        return _first([str(status.get("reason") or ""), _disruption(status), *_ended(status)])
    if phase == "Running" and deleting:
        return _first([_disruption(status)])
    if phase in (None, "Pending"):
        return _first(_waiting(status))
    return ""


def _disruption(status: JsonObject) -> str:
    """Return `EvictionByEvictionAPI`, `DeletionByTaintManager`, `PreemptionByScheduler`, or ""."""
    found = condition(status.get("conditions") or (), "DisruptionTarget")
    if found is None or found.get("status") != "True":
        return ""
    return str(found.get("reason") or "")


def _ended(status: JsonObject) -> Iterable[str]:
    for container in containers(status):
        ended = (container.get("state") or {}).get("terminated") or {}
        reason = str(ended.get("reason") or "")
        if ended.get("exitCode") and reason not in TELLS_NOTHING:
            yield reason


def _waiting(status: JsonObject) -> Iterable[str]:
    for container in containers(status):
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason = str(waiting.get("reason") or "")
        if reason not in _ON_ITS_WAY:
            yield _ONE_OF_TWO.get(reason, reason)


def _first(words: Iterable[str]) -> str:
    return next((word for word in words if _WORD.fullmatch(word)), "")


# A pod as the controller remembers it: a few hundred bytes with the fields that decisions read.

# The labels for the index of a pod within its owner, by the owner's Kind; a replacement has the
# same index. Under other owners the label may come from a template, the same for all pods.
_INDEX_LABELS = {each.resource.kind: each.index_label for each in KINDS if each.index_label}
_COMPONENT = re.compile(r"[0-9]{1,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod. `attempt` and `appwrapper_uid` are empty if the Go operator created it.

    `component`: the index of its component; None without the controller's label. `resources`: the
    sorted names of resources of which some container requests a non-zero amount. `crash_loop` and
    `cause`: results of the functions `crash_loop` and `pod_cause`.
    Do not add fields that change without meaning (a resourceVersion, a heartbeat): each change of a
    field counts as a change of the pod.
    """

    namespace: str
    name: str
    uid: str
    appwrapper: str
    appwrapper_uid: str
    attempt: str
    component: int | None
    phase: str
    deleting: bool
    created: str  # RFC 3339: compares as text
    owner_uid: str
    owner_kind: str
    index: str  # within its owner; empty if its owner gives none
    node: str
    bound: str  # RFC 3339: when it was bound to its node; empty before
    priority: int
    resources: tuple[str, ...]
    exit_codes: tuple[int, ...]  # its own ones, if it failed
    crash_loop: str | None
    cause: str = ""  # Kubernetes' reason: why it failed, does not start or is deleted
    unscheduled: str = ""  # why the scheduler finds no node: `scheduler_message`
    ignored_by_scheduler: str = ""  # why no scheduler has reported on it
    # Only while the scheduler finds no node: what it must have (facts/unschedulable.py).
    requests: tuple[tuple[str, Decimal], ...] = ()
    placement: str = ""
    # RFC 3339; empty unless deleted. When its termination grace period ends, and when the deletion
    # was requested.
    deletion_deadline: str = ""
    deletion_requested_at: str = ""
    owner_name: str = ""
    failed_at: str = ""  # RFC 3339: when it failed; also empty if a deletion ended it
    # Only for a failed pod, for a pod in a crash loop (or with init containers in one, while it is
    # pending), and for a pod that is deleted because of a crash (facts/container_ends.py).
    ends: tuple[ContainerEnd, ...] = ()


def project_pod(item: JsonObject) -> Pod:
    """Project the API server's object; the Pod holds no reference to it.

    Pods share equal strings in memory, as there may be tens of thousands of pods.
    """
    metadata = item["metadata"]
    labels = metadata.get("labels") or {}
    spec = item.get("spec") or {}
    status = item.get("status") or {}
    owner = controller_of(item)
    phase = status.get("phase") or "Pending"
    counted = IN_PLACE_RESTART_ATTEMPT in (metadata.get("annotations") or {})
    looping = crash_loop(spec, status, counted=counted) if phase == "Running" else None
    return Pod(
        namespace=intern(metadata["namespace"]),
        name=metadata["name"],
        uid=metadata["uid"],
        appwrapper=intern(labels.get(LABEL_APPWRAPPER, "")),
        appwrapper_uid=intern(labels.get(LABEL_UID, "")),
        attempt=intern(labels.get(LABEL_ATTEMPT, "")),
        component=component_index(labels),
        phase=intern(phase),
        deleting="deletionTimestamp" in metadata,
        created=intern(metadata.get("creationTimestamp") or ""),
        owner_uid=intern(owner.uid if owner else ""),
        owner_kind=intern(owner.kind if owner else ""),
        index=intern(_index(owner, labels)),
        node=intern(spec.get("nodeName") or ""),
        bound=intern(_bound(status)),
        priority=spec.get("priority") or 0,
        resources=_resources(spec),
        exit_codes=exit_codes(item) if phase == "Failed" else (),
        crash_loop=looping,
        cause=intern(pod_cause(status, deleting="deletionTimestamp" in metadata)),
        unscheduled=intern(rejected := scheduler_message(status)),
        ignored_by_scheduler=intern(ignored_by_scheduler(spec, status))
        if phase == "Pending"
        else "",
        requests=tuple(all_requested(spec).items()) if rejected else (),
        placement=intern(placement(spec)) if rejected else "",
        deletion_deadline=intern(metadata.get("deletionTimestamp") or ""),
        deletion_requested_at=intern(format_time(at))
        if (at := deletion_requested(metadata))
        else "",
        owner_name=intern(owner.name if owner else ""),
        failed_at=intern(failed_at(item)) if phase == "Failed" else "",
        ends=_ends(item, phase, looping),
    )


def _ends(item: JsonObject, phase: str, looping: str | None) -> tuple[ContainerEnd, ...]:
    if phase == "Failed":
        return ends_of_failed(item)
    if phase == "Pending":
        return ends_of_stuck(item)
    return ends_of_looping(item) if looping is not None else ends_before_deletion(item)


def component_index(labels: Mapping[str, str]) -> int | None:
    """Return the index of the component that an object is or comes from; None if unknown."""
    text = labels.get(LABEL_COMPONENT, "")
    # Any user may write labels; no AppWrapper has a thousand components.
    return int(text) if _COMPONENT.fullmatch(text) and LABEL_UID in labels else None


def is_only_placed(old: Pod | None, new: Pod | None) -> bool:
    """True if only the scheduling changed, in a way that does not matter to the AppWrapper."""
    if old is None or new is None or old == new or (new.unscheduled and not new.node):
        return False
    placed = replace(
        old,
        node=new.node,
        bound=new.bound,
        ignored_by_scheduler=new.ignored_by_scheduler,
        unscheduled=new.unscheduled,
        requests=new.requests,
        placement=new.placement,
    )
    return placed == new


def touched(old: Pod | None, new: Pod | None) -> set[tuple[str, str]]:
    """Return namespace and name of the AppWrappers that a change of a pod matters to.

    These are two if a client changed the pod's label: the AppWrapper that lost the pod must notice.
    """
    if is_only_placed(old, new):
        return set()
    return {(pod.namespace, pod.appwrapper) for pod in (old, new) if pod is not None}


def has_failed(old: Pod | None, new: Pod | None) -> bool:
    """True if a change shows that a pod failed."""
    return new is not None and new.phase == "Failed" and (old is None or old.phase != "Failed")


def _index(owner: Owner | None, labels: dict[str, str]) -> str:
    label = _INDEX_LABELS.get(owner.kind) if owner is not None else None
    if label is None or label.index not in labels:
        return ""
    return f"{labels.get(label.role, '')}/{labels[label.index]}"


def _bound(status: JsonObject) -> str:
    found = condition(status.get("conditions") or (), "PodScheduled")
    if found is None or found.get("status") != "True":
        return ""
    return found.get("lastTransitionTime") or ""


def _resources(spec: JsonObject) -> tuple[str, ...]:
    return _non_zero_ones(
        tuple(
            [
                each
                for field in ("containers", "initContainers")
                for container in spec.get(field) or ()
                if (resources := container.get("resources"))
                for amounts in (resources.get("requests"), resources.get("limits"))
                if amounts
                for each in amounts.items()
            ]
        )
    )


@lru_cache(maxsize=4096)
def _non_zero_ones(amounts: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Return the sorted names with an amount above 0. Most pods share one cached tuple."""
    containers = [{"resources": {"requests": {name: amount}}} for name, amount in amounts]
    names = sorted({intern(name) for name, _ in amounts})
    return tuple(requested_resources({"containers": containers}, names, "spec"))
