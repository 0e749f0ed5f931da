"""Whether pods find enough free nodes when some nodes are forbidden to them. Pure.

The controller sees the nodes and the pods of AppWrappers, but no other pods, and only the resources
of `autopilot.resourceTaints`. So every rule errs on the same side: unproved room is no room.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from controller.facts.nodes import KEEPS_OFF, Node, ResourceTaints, matching, tolerates
from controller.facts.pods import Pod
from shared.api.appwrapper import AppWrapper
from shared.api.objects import JsonObject
from shared.api.pod_requests import requested_of
from shared.kinds.kind import template_at
from shared.kinds.table import component_pod_sets


@dataclass(frozen=True, slots=True)
class PodGroup:
    """The identical pods of one pod set. `amounts`: the requests of each pod."""

    spec: JsonObject
    replicas: int
    amounts: dict[str, Decimal]
    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[JsonObject, ...] = ()


def pod_groups(components: Iterable[JsonObject], resources: Collection[str]) -> list[PodGroup]:
    """Return the pod sets that request some of `resources`, with what Kueue adds to their pods.

    Raise PodSetError if a component's pod sets are unreadable, and any exception for a template
    that the API server would reject.
    """
    return [group for each in components for group in _groups(each, resources)]


def _groups(component: JsonObject, resources: Collection[str]) -> Iterator[PodGroup]:
    infos: Sequence[JsonObject] = component.get("podSetInfos") or ()
    for index, pod_set in enumerate(component_pod_sets(component)):
        spec: JsonObject = template_at(component.get("template") or {}, pod_set.path)["spec"]
        read = {name: requested_of(spec, name) for name in resources}
        amounts = {name: amount for name, amount in read.items() if amount > 0}
        info = infos[index] if index < len(infos) else {}
        if amounts:
            yield PodGroup(
                spec=spec,
                replicas=pod_set.replicas,
                amounts=amounts,
                node_selector={
                    **(spec.get("nodeSelector") or {}),
                    **(info.get("nodeSelector") or {}),
                },
                tolerations=(*(spec.get("tolerations") or ()), *(info.get("tolerations") or ())),
            )


def resources_of(groups: Iterable[PodGroup]) -> frozenset[str]:
    """Return the resources that some of the pods request."""
    return frozenset(name for each in groups for name in each.amounts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The known state of the cluster.

    `withheld` returns a node's resources that must not be used although no label withholds them
    now. `pods_on` returns the AppWrappers' pods on a node.
    """

    nodes: Iterable[Node]
    resource_taints: ResourceTaints
    withheld: Callable[[str], Collection[str]]
    pods_on: Callable[[str], Iterable[Pod]]
    own: AppWrapper  # its earlier attempts are gone, although the pod watch may lag

    def suffices(self, groups: Sequence[PodGroup], without: Collection[str]) -> bool:
        """True if all pods of `groups` certainly find free nodes, not counting `without`.

        Each pod counts with the largest request of every resource. A node counts as full if a pod
        of an AppWrapper there uses one of the resources.
        """
        if not groups or any(_depends_on_other_pods(each.spec) for each in groups):
            return False
        largest = {
            name: max(each.amounts.get(name, Decimal(0)) for each in groups)
            for name in resources_of(groups)
        }
        missing = sum(each.replicas for each in groups)
        for node in self.nodes:
            if missing <= 0:
                break
            if node.name not in without and self._is_free(node, groups, largest):
                missing -= _places(node, largest)
        return missing <= 0

    def _is_free(self, node: Node, groups: Iterable[PodGroup], asked: Collection[str]) -> bool:
        if node.cordoned or node.out_of_reach or self._is_unfit(node, asked):
            return False
        if not all(_may_go(each, node) for each in groups):
            return False
        return not any(self._uses(pod, asked) for pod in self.pods_on(node.name))

    def _is_unfit(self, node: Node, asked: Collection[str]) -> bool:
        taints = (
            taint for name in asked for taint in matching(node, self.resource_taints.get(name, ()))
        )
        withheld = self.withheld(node.name)
        return any(taint.effect in KEEPS_OFF for taint in taints) or any(
            name in withheld for name in asked
        )

    def _uses(self, pod: Pod, asked: Collection[str]) -> bool:
        if pod.phase in ("Succeeded", "Failed"):
            return False
        gone = pod.appwrapper_uid == self.own.uid and pod.attempt != str(self.own.attempt)
        return not gone and any(name in asked for name in pod.resources)


def _places(node: Node, largest: dict[str, Decimal]) -> int:
    """Return how many pods of that size an empty node holds."""
    offered = dict(node.allocatable)
    return min(int(offered.get(name, Decimal(0)) // amount) for name, amount in largest.items())


def _depends_on_other_pods(spec: JsonObject) -> bool:
    affinity = spec.get("affinity") or {}
    rules = (affinity.get("podAffinity"), affinity.get("podAntiAffinity"))
    return any(rules) or bool(spec.get("topologySpreadConstraints")) or bool(spec.get("nodeName"))


def _may_go(group: PodGroup, node: Node) -> bool:
    labels = dict(node.labels)
    if any(labels.get(key) != value for key, value in group.node_selector.items()):
        return False
    if not all(any(tolerates(each, taint) for each in group.tolerations) for taint in node.taints):
        return False
    affinity = (group.spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    return any(_matches(term, labels) for term in required.get("nodeSelectorTerms") or ())


def _matches(term: JsonObject, labels: dict[str, str]) -> bool:
    if term.get("matchFields"):
        return False
    requirements = term.get("matchExpressions") or ()
    return bool(requirements) and all(_holds(each, labels) for each in requirements)


def _holds(requirement: JsonObject, labels: dict[str, str]) -> bool:
    key, values = requirement.get("key") or "", requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    return False  # Gt and Lt
