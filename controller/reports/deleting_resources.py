"""Report why a deletion is not finished. Pure.

The same state gives the same texts: they contain no elapsed time and have a fixed order.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Final

from controller.reports.reason import Reason
from controller.reports.report import ConditionReport
from shared.api.lines import clipped
from shared.api.names import CONDITION_DELETING_RESOURCES
from shared.api.objects import JsonObject
from shared.api.times import parse_time
from shared.waits.words import listed

# A deletion within a pod's usual grace period needs no explanation: 30 s, plus the time of the
# kubelet and of the garbage collector, which removes one level of owners after the other.
EXPLAIN_AFTER: Final = timedelta(seconds=45)
# Shortest interval between two explanations of one deletion. Shorter than that between two passes
# that force (FORCE_AGAIN), so that each of these has a current one.
EXPLAIN_AGAIN: Final = timedelta(seconds=20)

MOST_TEXTS: Final = 8
LONGEST_TEXT: Final = 400  # bytes
STILL_SETTLING: Final = "all is gone; waiting for controllers that may still be creating pods"
# The garbage collector's own finalizers, for foreground and orphaning deletion.
_COLLECTOR: Final = frozenset({"foregroundDeletion", "orphan"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionBlocked(ConditionReport):
    """A deletion is blocked. `blockers`: texts of `blockers()`; without any, `left` is named.

    `forced_off`: the pods that are removed without confirmation from their node. Without `left` and
    blockers only these are reported.
    """

    type: str = CONDITION_DELETING_RESOURCES
    reasons: ClassVar[tuple[Reason, ...]] = (
        Reason.DELETION_BLOCKED,
        Reason.FORCED_ON_UNREACHABLE_NODE,
    )
    status: bool = True
    reason: Reason = Reason.DELETION_BLOCKED
    blockers: tuple[str, ...] = ()
    left: str = ""
    forced_off: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the blockers, then the pods without confirmation."""
        blocked = "; ".join(self.blockers)
        if self.left:
            blocked = blocked or f"not deleted after the grace period: {self.left}"
        forced = unconfirmed(self.forced_off) if self.forced_off else ""
        return "; ".join(filter(None, [blocked, forced]))


def unconfirmed(forced_off: Sequence[str]) -> str:
    """Return the pods that are removed without confirmation from their node."""
    return f"deleted without confirmation from its node: {', '.join(forced_off)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftComponent:
    """A component that still exists or may exist.

    `waits_for`: Kinds and names of the objects that it owns. `unproved`: failed lists of such
    objects. `pods_left`: labelled pods exist, which have their own texts. `obstacle`: why it may
    exist although its Kind is not served; then all else is unknown. `unreadable`: why the
    controller cannot read it.
    """

    name: str
    kind: str
    deleting: bool = False
    finalizers: tuple[str, ...] = ()
    waits_for: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()
    pods_left: bool = False
    refused: str = ""
    obstacle: str = ""
    unreadable: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftPod:
    """A pod that still exists. `due`: its grace period is over. `ended`: its containers ended."""

    name: str
    node: str = ""
    deleting: bool = False
    due: bool = False
    ended: bool = False
    finalizers: tuple[str, ...] = ()
    refused: str = ""


def finalizers_of(metadata: JsonObject) -> tuple[str, ...]:
    """Return the finalizers without the garbage collector's: only their owners remove them."""
    return tuple(each for each in metadata.get("finalizers") or () if each not in _COLLECTOR)


def project_left_pod(item: JsonObject, refused: str, now: datetime) -> LeftPod:
    """Project a pod. Its deletionTimestamp is the end of its grace period."""
    metadata = item["metadata"]
    ends_at = metadata.get("deletionTimestamp")
    return LeftPod(
        name=metadata["name"],
        node=(item.get("spec") or {}).get("nodeName") or "",
        deleting=ends_at is not None,
        due=ends_at is not None and now >= parse_time(ends_at),
        ended=(item.get("status") or {}).get("phase") in ("Succeeded", "Failed"),
        finalizers=finalizers_of(metadata),
        refused=refused,
    )


# Kueue finishes the Workload of an AppWrapper that is being deleted, and then suspends each Job
# that the components' operators create. KubeRay creates one that cleans up a Redis, and its
# finalizer keeps the RayCluster until that Job has ended.
_BY_KUEUE: Final = " (suspended by Kueue: see appwrapper explain)"
_SUSPENDED: Final = re.compile(rf"\bJob ([a-z0-9.-]+){re.escape(_BY_KUEUE)}")


def owned_name(kind: str, item: JsonObject) -> str:
    """Return Kind and name of an owned object, with a note if it is a Job that Kueue suspended."""
    name = f"{kind} {item['metadata']['name']}"
    return f"{name}{_BY_KUEUE}" if kind == "Job" and _is_suspended_by_kueue(item) else name


def suspended_jobs(text: str) -> tuple[str, ...]:
    """Return the names of the Jobs that these sentences report as suspended by Kueue."""
    return tuple(dict.fromkeys(_SUSPENDED.findall(text)))


def _is_suspended_by_kueue(job: JsonObject) -> bool:
    if not (job.get("spec") or {}).get("suspend") or "deletionTimestamp" in job["metadata"]:
        return False
    return any(
        each.get("manager") == "kueue"
        and "f:suspend" in ((each.get("fieldsV1") or {}).get("f:spec") or {})
        for each in job["metadata"].get("managedFields") or ()
    )


def blockers(
    components: Sequence[LeftComponent],
    pods: Sequence[LeftPod],
    silent_nodes: Mapping[str, str],
    made: int,
) -> tuple[str, ...]:
    """Return the sentences, at most MOST_TEXTS.

    `silent_nodes`: the state of nodes that do not stop their pods, by name. `made`: the number of
    pods before the deletion.
    """
    texts = [
        *(text for each in components for text in of_component(each)),
        *_of_pods(pods, silent_nodes, made),
    ]
    shown = texts if len(texts) <= MOST_TEXTS else texts[: MOST_TEXTS - 1]
    more = [f"and {len(texts) - len(shown)} more"] if len(shown) < len(texts) else []
    return tuple(clipped(text, LONGEST_TEXT) for text in [*shown, *more])


def forced_off(pods: Iterable[LeftPod], silent_nodes: Mapping[str, str]) -> tuple[str, ...]:
    """Name the pods that are removed before their node has stopped them, by node."""
    texts = list(_grouped(pods, _on_silent_node(silent_nodes)))
    shown = texts[:MOST_TEXTS]
    more = [f"and pods on {len(texts) - len(shown)} more nodes"] if len(shown) < len(texts) else []
    return tuple(clipped(text, LONGEST_TEXT) for text in [*shown, *more])


def of_component(left: LeftComponent) -> Iterable[str]:
    """Yield the sentences about a component; none while only its pods keep it."""
    who = f"{left.kind} {left.name}"
    if left.obstacle:
        yield f"{who} may exist although its Kind is not served: {left.obstacle}"
        return
    if left.unreadable:
        yield f"{who} cannot be read: {left.unreadable}"
        return
    if left.refused:
        yield f"{who} may not be deleted: {left.refused}"
    elif not left.deleting:
        yield f"{who} is not being deleted yet"
    if left.finalizers:
        yield f"{who} has {_finalizers(left.finalizers)}"
    if left.waits_for:
        yield f"{who} waits for {listed(sorted(left.waits_for))}"
    elif left.unproved:
        yield f"{who} may wait for objects that it owns: {'; '.join(left.unproved)}"
    elif left.deleting and not (left.finalizers or left.pods_left):
        yield f"{who} waits for the garbage collector"


def _of_pods(pods: Sequence[LeftPod], silent_nodes: Mapping[str, str], made: int) -> Iterable[str]:
    cut_off = _on_silent_node(silent_nodes)
    yield from _grouped(pods, _refused)
    yield from _grouped([pod for pod in pods if pod.due], cut_off)
    rest = [pod for pod in pods if not pod.refused and not (pod.due and cut_off(pod))]
    yield from _grouped(rest, _held)
    if ending := sum(pod.deleting and not is_over(pod) for pod in rest):
        yield f"{ending} of {max(made, len(pods))} pods are within their grace period"
    yield from _grouped(rest, _unasked)


# The text about one pod, and about several; None: no text.
_Description = tuple[str, str] | None


def _refused(pod: LeftPod) -> _Description:
    text = f"may not be deleted: {pod.refused}"
    return (text, text) if pod.refused else None


def _on_silent_node(silent_nodes: Mapping[str, str]) -> Callable[[LeftPod], _Description]:
    def description(pod: LeftPod) -> _Description:
        state = silent_nodes.get(pod.node)
        text = f"on node {pod.node}, which {state}"
        return (text, text) if state else None

    return description


def _held(pod: LeftPod) -> _Description:
    if not is_over(pod):
        return None
    if pod.finalizers:
        named = _finalizers(pod.finalizers)
        return f"has {named}", f"have {named}"
    return (
        "is still terminating although its grace period is over: its node has not stopped it",
        "are still terminating although their grace period is over: their nodes have not stopped "
        "them",
    )


def _unasked(pod: LeftPod) -> _Description:
    return None if pod.deleting else ("is not being deleted yet", "are not being deleted yet")


def is_over(pod: LeftPod) -> bool:
    """True if only the pod's finalizers or its node keep the pod."""
    return pod.deleting and (pod.due or (pod.ended and bool(pod.finalizers)))


def _grouped(pods: Iterable[LeftPod], describe: Callable[[LeftPod], _Description]) -> Iterable[str]:
    """Yield one text for all pods that have the same text."""
    groups: dict[tuple[str, str], list[str]] = {}
    for pod in pods:
        if text := describe(pod):
            groups.setdefault(text, []).append(pod.name)
    for (of_one, of_several), names in sorted(groups.items()):
        if len(names) > 1:
            yield f"Pods {listed(sorted(names))} {of_several}"
        else:
            yield f"Pod {names[0]} {of_one}"


def _finalizers(finalizers: Sequence[str]) -> str:
    return f"the finalizer{'s' if len(finalizers) > 1 else ''} {', '.join(finalizers)}"
