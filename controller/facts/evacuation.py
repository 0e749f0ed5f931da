"""Pods that must leave their node because of a label, or their device because of a taint. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from types import MappingProxyType
from typing import Final

from controller.facts.devices import (
    DELETED_BY_TAINT,
    NO_EXECUTE,
    HeldTaint,
    HeldTaints,
    nothing_held,
)
from controller.facts.nodes import UNREACHABLE, Tag, Tags
from controller.facts.pod_counts import Membership, unhealed_failures
from controller.facts.pods import Pod
from controller.phases.root_cause import RootCause
from controller.phases.snapshot import Evacuation
from controller.reports.reason import Reason
from shared.api.conditions import Terminal
from shared.api.times import parse_time
from shared.waits.words import listed

# A label that is this much older than a pod's binding was certainly there first. Clocks differ a
# little, pods' times have whole seconds, and the scheduler's watch lags as the controller's does.
CERTAINLY_BEFORE: Final = timedelta(seconds=5)
# Further names are only counted: people read the condition.
_NAMED: Final = 3

Key = tuple[str, str]  # namespace, name of an AppWrapper
PODS_BY_NODE: Final = "node"


def by_node(pod: Pod) -> tuple[str, ...]:
    """Return the keys of the pod informer's index PODS_BY_NODE."""
    return (pod.node,) if pod.node else ()


# The NoExecute resources by node name. A node without such resources has no entry.
NodeTags = Mapping[str, Tags]
# If `autopilot.monitorNodes` is off, the controller knows no tags.
UNWATCHED_NODES: Final[NodeTags] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Driven:
    """A pod, and a resource or device that it uses despite a NoExecute tag or taint.

    `breaker`: the name of the breaker that may hold it.
    """

    pod: Pod
    used: str
    words: str
    since: datetime
    breaker: str

    @classmethod
    def by_tag(cls, pod: Pod, resource: str, tag: Tag) -> "_Driven":
        return cls(pod, resource, tag.words, tag.since, resource)

    @classmethod
    def by_taint(cls, pod: Pod, held: HeldTaint) -> "_Driven":
        return cls(pod, f"device {held.device}", held.words, held.since, held.device.driver)

    @property
    def place(self) -> tuple[str, str, str]:
        """Return the parts that a message names once for all pods."""
        return self.pod.node, self.used, self.words


def find_evacuation(
    pods: Sequence[Pod],
    membership: Membership,
    nodes: NodeTags,
    held: HeldTaints = nothing_held,
    *,
    topology: bool = False,
) -> Evacuation | None:
    """Return why pods of the current attempt must leave their nodes or devices; None if none must.

    Pods of a succeeded component do not count: a reset would restart all other pods for them.
    Under a `topology` latched nodes do not count: Kueue would assign them again in any case.
    """
    # Check the tags first: as a rule a node has none.
    tagged = [
        _Driven.by_tag(pod, resource, tag)
        for pod in pods
        if (tags := nodes.get(pod.node)) and _counts(pod, membership)
        for resource in pod.resources
        if (tag := tags.get(resource)) is not None and not (topology and tag.gone)
    ]
    tainted = [] if held is nothing_held else list(_tainted(pods, membership, held))
    driven = [*tagged, *tainted]
    if not driven:
        return None
    driven.sort(key=lambda each: (*each.place, each.pod.name))
    return Evacuation(
        message=_message(driven),
        spends_retry=any(map(_was_tagged_before, driven)),
        resources=frozenset(each.breaker for each in driven),
        since=min(each.since for each in driven),
        root_cause=None if tagged else _root_cause(driven),
    )


def _tainted(pods: Sequence[Pod], membership: Membership, held: HeldTaints) -> Iterator[_Driven]:
    """Yield the pods whose devices have a NoExecute taint.

    Kubernetes deletes such pods at the same time, except pods that request their devices as an
    extended resource. If it deletes a pod for this reason, the pod does not tolerate the taint, or
    no longer does so.
    """
    failed = [pod for pod in pods if pod.phase == "Failed" and pod.cause == DELETED_BY_TAINT]
    unhealed = {pod.uid for pod in unhealed_failures(pods, membership)} if failed else set()
    for pod in pods:
        leaves = pod.cause == DELETED_BY_TAINT and membership.is_awaited(pod)
        deleted = leaves and (pod.phase == "Running" or pod.uid in unhealed)
        if deleted or _counts(pod, membership):
            for each in held(pod.uid):
                if each.taint.effect == NO_EXECUTE and (deleted or not each.tolerated):
                    yield _Driven.by_taint(pod, each)


def _root_cause(driven: Sequence[_Driven]) -> RootCause:
    """Return the taint of the first device as the root cause. The node's other devices are well."""
    first = min(driven, key=lambda each: (each.since, each.place, each.pod.name))
    return RootCause(
        pod=first.pod.name,
        pod_uid=first.pod.uid,
        node=first.pod.node,
        time=first.since,
        code=Reason.DEVICE_TAINTED.value,
        infrastructure=Reason.DEVICE_TAINTED.value,
        message=_message(driven),
        failed_pods=len({each.pod.uid for each in driven}),
    )


def users(pods: Iterable[tuple[Pod, Collection[str]]]) -> list[Key]:
    """Return the AppWrappers whose running pods use a changed resource, highest priority first.

    `pods`: each pod with the resources that changed on its node. UNREACHABLE concerns all pods.
    """
    priorities: dict[Key, int] = {}
    for pod, resources in pods:
        uses = _runs(pod) and any(resource in resources for resource in pod.resources)
        if uses or UNREACHABLE in resources:
            key = (pod.namespace, pod.appwrapper)
            priorities[key] = max(pod.priority, priorities.get(key, pod.priority))
    return sorted(priorities, key=lambda key: (-priorities[key], key))


def _runs(pod: Pod) -> bool:
    return pod.phase == "Running" and not pod.deleting


def _counts(pod: Pod, membership: Membership) -> bool:
    component = membership.component_of(pod)
    ended = component is not None and component.terminal is Terminal.SUCCEEDED
    return _runs(pod) and not ended


def _was_tagged_before(driven: _Driven) -> bool:
    """True if the pod's binding is certainly later than the tag of its node."""
    if not driven.pod.bound:
        return False
    return parse_time(driven.pod.bound) >= driven.since + CERTAINLY_BEFORE


def _message(driven: Collection[_Driven]) -> str:
    """Return `node n1 (key=EVICT): pods a, b use nvidia.com/gpu`, for each place."""
    places = [
        _at_place([each.pod.name for each in found], *place)
        for place, found in groupby(driven, key=lambda each: each.place)
    ]
    text = "; ".join(places[:_NAMED])
    more = len(places) - _NAMED
    return f"{text}; and {more} more" if more > 0 else text


def _at_place(pods: list[str], node: str, resource: str, label: str) -> str:
    if len(pods) == 1:
        return f"node {node} ({label}): pod {pods[0]} uses {resource}"
    return f"node {node} ({label}): pods {listed(pods)} use {resource}"
