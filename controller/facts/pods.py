"""Pods as facts: read from the API server's objects, with why they failed or crash."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from sys import intern
from typing import Final

from controller.facts.ends import (
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
from controller.facts.scheduling import scheduler_message, unheeded
from controller.phases.snapshot import FaultTolerance
from shared.api.conditions import condition
from shared.api.names import LABEL_APPWRAPPER, LABEL_ATTEMPT, LABEL_COMPONENT, LABEL_UID
from shared.api.objects import JsonObject, Owner, controller_of
from shared.api.pod_requests import all_requested
from shared.api.times import format_time, parse_time
from shared.injection.anti_affinity import requested_resources
from shared.kinds.table import KINDS


def is_terminal(codes: Iterable[int], config: FaultTolerance) -> bool:
    """Some code is listed as terminal, or a list of retryable ones exists and lacks it."""
    return any(config.forbids(code) for code in codes)


# Whether containers of a running pod crash again and again in place.
#
# Under restartPolicy OnFailure or Always a pod's phase stays Running meanwhile, so its containers
# have to be looked at:
#
# - One restart is no loop, whatever its cause (a crash, a liveness probe, a reboot of the node).
# - A loop begins with the second end within what the kubelet takes for one: it begins its back-
# off anew only after a run of ten minutes. So a pod that restarted twice a week ago is in none,
# and its third restart is again a single one. - A loop lasts until the container has run for the
# stability period since its last start. - A container that ended for good (exit code 0 under
# OnFailure, anything under Never) is in none. - One that ended and cannot be started again (its
# image is gone, its Secret is) does not run either. - Init containers and sidecars do not count:
# while the former run, the pod is Pending; the latter serve the others, whose own crashes tell if
# they cannot do without.

NOT_RUNNING: Final = ""  # a container of the loop is down; nobody knows for how long
# The kubelet forgets earlier crashes of what ran that long: twice its longest back-off.
FORGIVEN_AFTER: Final = timedelta(minutes=10)

_CRASH_LOOP: Final = "CrashLoopBackOff"
# Reasons of a waiting container for which the kubelet tries again and again, or not any more.
_STUCK: Final = frozenset(
    {
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "CreateContainerConfigError",
        "CreateContainerError",
    }
)


def crash_loop(spec: JsonObject, status: JsonObject) -> str | None:
    """None: no loop. Else when the last of the looping containers was started (RFC 3339).

    NOT_RUNNING where one of them does not run.
    """
    found: list[str] = []
    for each in status.get("containerStatuses") or ():
        if not each.get("restartCount") and "running" in (each.get("state") or {}):
            continue  # nearly all of them, nearly always
        started = _looping_since(each, _restart_policy(spec, each.get("name")))
        if started is not None:
            found.append(started)
    if not found:
        return None
    return NOT_RUNNING if NOT_RUNNING in found else max(found)


def stable_in(started: str, now: datetime, period: timedelta) -> timedelta | None:
    """How long until a pod with that crash loop counts as running; zero: it does.

    None: not by itself. A start in the future, by another clock, counts as now.
    """
    if started == NOT_RUNNING:
        return None
    left = parse_time(started) + period - now
    return max(timedelta(0), min(left, period))


def _restart_policy(spec: JsonObject, name: object) -> str:
    """A container's own one goes before the pod's."""
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
    reason = (state.get("waiting") or {}).get("reason")
    if reason in _STUCK or (restarts and (reason == _CRASH_LOOP or _was_short(last_end))):
        return NOT_RUNNING
    return None


def _was_short(ended: JsonObject | None) -> bool:
    """The run that so ended; also where nobody knows how long it was."""
    try:
        began, finished = ((ended or {}).get(key) or "" for key in ("startedAt", "finishedAt"))
        return parse_time(finished) - parse_time(began) < FORGIVEN_AFTER
    except ValueError:
        return True


# Why a pod failed or does not start, in Kubernetes' own word for it.

# A container's word that tells no more than its exit code does.
_TELLS_NOTHING: Final = frozenset({"", "Error", "Completed", "ContainerStatusUnknown"})
# Nobody but time is needed while a container waits for these.
_ON_ITS_WAY: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
# The kubelet alternates: it tries, and it waits before it tries again. One word for both, or the
# pod would seem to change every minute.
_ONE_OF_TWO: Final = {"ImagePullBackOff": "ErrImagePull", "CrashLoopBackOff": ""}
# As CamelCase as the API asks for, and no longer than a condition bears. Anybody may write status.
# The kubelet appends a resource's name to OutOf: OutOfcpu, OutOfnvidia.com/gpu.
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,47}|OutOf[-._/A-Za-z0-9]{1,128}")


def pod_cause(status: JsonObject, *, deleting: bool = False) -> str:
    """`OOMKilled`, `Evicted`, `ErrImagePull`; empty where there is no more to tell.

    `status` is the pod's. Of a failed pod its own reason comes before who disrupted it, and that
    before a container's: whoever evicts a pod ends its containers. A running pod has a cause only
    while a disruption deletes it.
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
    """`EvictionByEvictionAPI`, `DeletionByTaintManager`, `PreemptionByScheduler`."""
    found = condition(status.get("conditions") or (), "DisruptionTarget")
    if found is None or found.get("status") != "True":
        return ""
    return str(found.get("reason") or "")


def _ended(status: JsonObject) -> Iterable[str]:
    for container in containers(status):
        ended = (container.get("state") or {}).get("terminated") or {}
        reason = str(ended.get("reason") or "")
        if ended.get("exitCode") and reason not in _TELLS_NOTHING:
            yield reason


def _waiting(status: JsonObject) -> Iterable[str]:
    for container in containers(status):
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason = str(waiting.get("reason") or "")
        if reason not in _ON_ITS_WAY:
            yield _ONE_OF_TWO.get(reason, reason)


def _first(words: Iterable[str]) -> str:
    return next((word for word in words if _WORD.fullmatch(word)), "")


# A pod as the controller remembers it: a few hundred bytes of what decisions depend on.

# Where the controllers that make pods say which of their pods one is, by their Kind's name. A
# replacement has the same. Labels of others may come from a template, the same for all pods.
_INDEX_LABELS = {each.resource.kind: each.index_label for each in KINDS if each.index_label}
_COMPONENT = re.compile(r"[0-9]{1,3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """`attempt` and `appwrapper_uid` are empty for pods of the Go operator's making.

    `component` is the index of the component that it comes from, None where no label of ours tells.
    `resources` names, sorted, what some container asks for a non-zero amount of. `crash_loop` and
    `cause`: see the functions `crash_loop` and `pod_cause`.
    Nothing that changes without meaning (a resourceVersion, a heartbeat) belongs here: a change of
    any field is a change to look at.
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
    index: str  # within its owner; empty where its owner gives none
    node: str
    bound: str  # RFC 3339: when it got its node; empty before
    priority: int
    resources: tuple[str, ...]
    exit_codes: tuple[int, ...]  # its own ones, if it failed
    crash_loop: str | None
    cause: str = ""  # why it failed, does not start or is taken away: Kubernetes' word for it
    unscheduled: str = ""  # why the scheduler finds no node for it: see `scheduler_message`
    unheeded: str = ""  # why no scheduler has reported on it: see `unheeded`
    requests: tuple[tuple[str, Decimal], ...] = ()  # only while the scheduler finds no node
    leaves: str = ""  # RFC 3339: when its termination grace period ends; empty if nobody deletes it
    asked: str = ""  # RFC 3339: when it was asked to go, however long it may take; empty likewise
    owner_name: str = ""
    owner_version: str = ""  # its API version, as in `batch/v1`
    failed_at: str = ""  # RFC 3339: when it failed; empty otherwise, and where a deletion ended it
    # Of a failed pod, of one whose containers, or init containers while it is pending, crash in
    # place again and again, and of one that is deleted for a crash (facts/ends.py).
    ends: tuple[ContainerEnd, ...] = ()


def project_pod(item: JsonObject) -> Pod:
    """From the API server's object, which may then be dropped.

    What pods have in common is one string for all of them: there may be tens of thousands.
    """
    metadata = item["metadata"]
    labels = metadata.get("labels") or {}
    spec = item.get("spec") or {}
    status = item.get("status") or {}
    owner = controller_of(item)
    phase = status.get("phase") or "Pending"
    looping = crash_loop(spec, status) if phase == "Running" else None
    return Pod(
        namespace=intern(metadata["namespace"]),
        name=metadata["name"],
        uid=metadata["uid"],
        appwrapper=intern(labels.get(LABEL_APPWRAPPER, "")),
        appwrapper_uid=intern(labels.get(LABEL_UID, "")),
        attempt=intern(labels.get(LABEL_ATTEMPT, "")),
        component=_component(labels),
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
        unheeded=intern(unheeded(spec, status)) if phase == "Pending" else "",
        requests=tuple(all_requested(spec).items()) if rejected else (),
        leaves=intern(metadata.get("deletionTimestamp") or ""),
        asked=intern(format_time(asked)) if (asked := deletion_requested(metadata)) else "",
        owner_name=intern(owner.name if owner else ""),
        owner_version=intern(owner.api_version if owner else ""),
        failed_at=intern(failed_at(item)) if phase == "Failed" else "",
        ends=_ends(item, phase, looping),
    )


def _ends(item: JsonObject, phase: str, looping: str | None) -> tuple[ContainerEnd, ...]:
    if phase == "Failed":
        return ends_of_failed(item)
    if phase == "Pending":
        return ends_of_stuck(item)
    return ends_of_looping(item) if looping is not None else ends_before_deletion(item)


def _component(labels: dict[str, str]) -> int | None:
    text = labels.get(LABEL_COMPONENT, "")
    # Anybody may write labels; no AppWrapper has a thousand components.
    return int(text) if _COMPONENT.fullmatch(text) and LABEL_UID in labels else None


def is_only_placed(old: Pod | None, new: Pod | None) -> bool:
    """The scheduler found a node or may look for one, which changes nothing for the AppWrapper."""
    if old is None or new is None or old == new or (new.unscheduled and not new.node):
        return False
    placed = replace(old, node=new.node, bound=new.bound, unheeded=new.unheeded)
    return replace(placed, unscheduled=new.unscheduled, requests=new.requests) == new


def touched(old: Pod | None, new: Pod | None) -> set[tuple[str, str]]:
    """Namespace and name of the AppWrappers that a change of a pod matters to.

    Two where somebody gave it the label of another: the one that lost it has to notice.
    """
    if is_only_placed(old, new):
        return set()
    return {(pod.namespace, pod.appwrapper) for pod in (old, new) if pod is not None}


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
    """Most pods ask for what others ask for: one answer, and one tuple, for all of them."""
    containers = [{"resources": {"requests": {name: amount}}} for name, amount in amounts]
    names = sorted({intern(name) for name, _ in amounts})
    return tuple(requested_resources({"containers": containers}, names, "spec"))
