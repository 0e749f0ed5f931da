"""Pods that a label of their node drives off, and whom to tell of such a label. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from types import MappingProxyType
from typing import Final

from controller.facts.nodes import Tag, Tags
from controller.facts.placement import AvoidedLabels
from controller.facts.pod_counts import Membership
from controller.facts.pods import Pod
from controller.phases.snapshot import Evacuation
from shared.api.conditions import Terminal
from shared.api.times import parse_time

# A label this much older than a pod's place was there before: the scheduler's clock and ours may
# differ a little, times of pods have whole seconds, and the scheduler learns of labels by a watch
# as we do.
CERTAINLY_BEFORE: Final = timedelta(seconds=5)
# More of them are only counted: a condition is read by people.
_NAMED: Final = 3

Key = tuple[str, str]  # namespace, name of an AppWrapper
PODS_BY_NODE: Final = "node"


def by_node(pod: Pod) -> tuple[str, ...]:
    """The pod informer's index of the name PODS_BY_NODE."""
    return (pod.node,) if pod.node else ()


# Which resources are NoExecute, by the node's name. A node without any is not in it.
NodeTags = Mapping[str, Tags]
# Where `autopilot.monitorNodes` is off: no node has tags, as far as we know.
UNWATCHED_NODES: Final[NodeTags] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Driven:
    """A pod, and a resource that it uses though the tag says NoExecute."""

    pod: Pod
    resource: str
    tag: Tag

    @property
    def place(self) -> tuple[str, str, str]:
        """What a message names once for all pods."""
        return self.pod.node, self.resource, self.tag.words


def find_evacuation(
    pods: Iterable[Pod],
    membership: Membership,
    nodes: NodeTags,
    avoided: AvoidedLabels | None = None,
) -> Evacuation | None:
    """What drives running pods of the current attempt off, if anything does.

    Pods of a component that ended well do not count: all others would be started anew for them.
    `avoided` is given under a topology, where Kueue chooses nodes by the stored templates. If these
    do not avoid the label, Kueue may choose such a node again, so the evacuation spends a retry.
    Latched nodes count only elsewhere: Kueue would assign them again, whatever the new pods avoid.
    """
    # Tags first: as a rule a node has none.
    driven = [
        _Driven(pod, resource, tag)
        for pod in pods
        if (tags := nodes.get(pod.node)) and _counts(pod, membership)
        for resource in pod.resources
        if (tag := tags.get(resource)) is not None and (avoided is None or tag.gone is None)
    ]
    if not driven:
        return None
    driven.sort(key=lambda each: (*each.place, each.pod.name))
    return Evacuation(
        message=_message(driven),
        spends_retry=any(_was_tagged_before(each) or _may_recur(each, avoided) for each in driven),
        resources=frozenset(each.resource for each in driven),
        since=min(each.tag.since for each in driven),
    )


def users(pods: Iterable[tuple[Pod, Collection[str]]]) -> list[Key]:
    """The AppWrappers of running pods that use one of the resources, highest priority first.

    Each pod comes with the resources that changed on its node.
    """
    priorities: dict[Key, int] = {}
    for pod, resources in pods:
        if _runs(pod) and any(resource in resources for resource in pod.resources):
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
    """The pod got its node while it was tagged or latched. What is not known speaks against it."""
    if not driven.pod.bound:
        return False
    return parse_time(driven.pod.bound) >= driven.tag.since + CERTAINLY_BEFORE


def _may_recur(driven: _Driven, avoided: AvoidedLabels | None) -> bool:
    return avoided is not None and driven.tag.label not in avoided.get(driven.resource, ())


def _message(driven: Collection[_Driven]) -> str:
    """`node n1 (key=EVICT): pods a, b use nvidia.com/gpu`, for each place."""
    places = [
        _at_place([each.pod.name for each in found], *place)
        for place, found in groupby(driven, key=lambda each: each.place)
    ]
    told = "; ".join(places[:_NAMED])
    more = len(places) - _NAMED
    return f"{told}; and {more} more" if more > 0 else told


def _at_place(pods: list[str], node: str, resource: str, label: str) -> str:
    if len(pods) == 1:
        return f"node {node} ({label}): pod {pods[0]} uses {resource}"
    more = len(pods) - _NAMED
    rest = f" and {more} more" if more > 0 else ""
    return f"node {node} ({label}): pods {', '.join(pods[:_NAMED])}{rest} use {resource}"
