"""The nodes that Kueue assigned under a topology, and whether new pods can go to them. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from controller.facts.nodes import (
    CORDON,
    KEEPS_OFF,
    Node,
    NodeProjection,
    ResourceTaints,
    matching,
    tolerates,
)
from controller.phases.snapshot import Misplacement
from shared.api.conditions import is_true
from shared.api.objects import JsonObject, controller_of
from shared.api.pod_requests import all_requested
from shared.injection.avoided_hosts import GATE_TOPOLOGY, LABEL_HOSTNAME
from shared.waits.words import listed
from shared.waits.workload import ADMITTED, EVICTED, is_finished

# Kueue's own annotation, written together with the gate: the Workload's name.
_ANNOTATION: Final = "kueue.x-k8s.io/workload"
# In a component's outline: that name.
TOPOLOGY: Final = "topologyWorkload"


def topology_workload(component: JsonObject) -> str:
    """Return the Workload in which Kueue assigned nodes to a whole component; empty if none."""
    named = (
        (each.get("annotations") or {}).get(_ANNOTATION)
        for each in component.get("podSetInfos") or ()
        if any(gate.get("name") == GATE_TOPOLOGY for gate in each.get("schedulingGates") or ())
    )
    return next(filter(None, named), "")


# Kueue's assignment, read from its Workload.


@dataclass(frozen=True, slots=True)
class PodSetPlace:
    """The pods of a pod set by host (kubernetes.io/hostname), and the requests of each pod."""

    hosts: Mapping[str, int]
    requests: Mapping[str, Decimal]
    tolerates_cordon: bool


@dataclass(frozen=True, slots=True)
class Assignment:
    """The nodes of a Workload. `evicted`: Kueue evicts it already, or replaces a failed node."""

    workload: str
    uid: str
    version: str
    pod_sets: tuple[PodSetPlace, ...]
    evicted: bool

    @property
    def hosts(self) -> list[str]:
        """Return all hosts, sorted."""
        return sorted({host for each in self.pod_sets for host in each.hosts})


def assignment_of(workloads: Iterable[JsonObject], owner: str, name: str) -> Assignment | None:
    """Return the assignment in Workload `name` of the AppWrapper with UID `owner`.

    None if the Workload is not admitted: Kueue then suspends the AppWrapper itself.
    """
    for workload in workloads:
        metadata, status = workload["metadata"], workload.get("status") or {}
        made_of = controller_of(workload)
        if metadata["name"] != name or made_of is None or made_of.uid != owner:
            continue
        conditions = status.get("conditions") or []
        if not is_true(conditions, ADMITTED) or is_finished(workload):
            return None
        # Kueue already replaces a failed node: an eviction would lose the quota for nothing.
        busy = is_true(conditions, EVICTED) or bool(status.get("unhealthyNodes"))
        places = tuple(_places(workload))
        return Assignment(name, metadata["uid"], metadata["resourceVersion"], places, busy)
    return None


def _places(workload: JsonObject) -> Iterator[PodSetPlace]:
    templates = {
        each.get("name") or "main": (each.get("template") or {}).get("spec") or {}
        for each in (workload.get("spec") or {}).get("podSets") or ()
    }
    admission = (workload.get("status") or {}).get("admission") or {}
    for each in admission.get("podSetAssignments") or ():
        spec = templates.get(each.get("name") or "main") or {}
        hosts = dict(_hosts(each.get("topologyAssignment") or {}))
        yield PodSetPlace(hosts, all_requested(spec), _tolerates_cordon(spec))


def _hosts(assignment: JsonObject) -> Iterator[tuple[str, int]]:
    """Yield hosts with their pods; none unless the topology's lowest level is the node."""
    levels = assignment.get("levels") or []
    if not levels or levels[-1] != LABEL_HOSTNAME:
        return
    for part in assignment.get("slices") or ():
        values, counts = part["valuesPerLevel"][-1], part["podCounts"]
        individual = values.get("individual")
        if individual is None:
            names = [values["universal"]]
        else:
            before, after = individual.get("prefix") or "", individual.get("suffix") or ""
            names = [f"{before}{root}{after}" for root in individual["roots"]]
        same = counts.get("universal")
        each = [same] * len(names) if same is not None else counts["individual"]
        yield from zip(names, each, strict=True)


def _tolerates_cordon(spec: JsonObject) -> bool:
    return any(tolerates(each, CORDON) for each in spec.get("tolerations") or ())


# Whether new pods can go there.


def misplacement(
    assignment: Assignment, nodes: Iterable[JsonObject], taints: ResourceTaints
) -> Misplacement | None:
    """Return the nodes that reject new pods; None without any. `nodes`: those of its hosts."""
    keys = {taint.key for each in taints.values() for taint in each}
    project = NodeProjection(keys, taints).project
    bad = dict.fromkeys(assignment.hosts, "gone")
    for item in nodes:
        node = project(item)
        host = (item["metadata"].get("labels") or {}).get(LABEL_HOSTNAME) or ""
        bad.pop(host, None)
        users = [each for each in assignment.pod_sets if host in each.hosts]
        reasons = (_keeps_off(node, each, taints) for each in users)
        if why := next(filter(None, reasons), "") or _lacks(node, host, users):
            bad[node.name] = why
    if not bad:
        return None
    named = [f"{name} ({why})" for name, why in sorted(bad.items())]
    return Misplacement(
        f"its pods are assigned to {'node' if len(named) == 1 else 'nodes'} {listed(named)}",
        assignment.workload,
        assignment.uid,
        assignment.version,
        assignment.evicted,
    )


def _keeps_off(node: Node, pods: PodSetPlace, taints: ResourceTaints) -> str:
    """Return why the node rejects these pods; empty if it does not."""
    if node.out_of_reach:
        return "NotReady or unreachable"
    if node.cordoned and not pods.tolerates_cordon:
        return "cordoned"
    found = (
        f"{taint.key}={taint.value}"
        for resource in sorted(pods.requests.keys() & taints.keys())
        for taint in matching(node, taints[resource])
        if taint.effect in KEEPS_OFF
    )
    return next(found, "")


def _lacks(node: Node, host: str, pod_sets: Iterable[PodSetPlace]) -> str:
    """Return what the node lacks: devices failed, or Kueue assigned more than it has."""
    asked: Counter[str] = Counter()
    for each in pod_sets:
        for resource in each.requests.keys() & node.resources:
            asked[resource] += int(each.requests[resource] * each.hosts[host])
    there = dict(node.allocatable)
    found = (
        f"has {there.get(resource, 0)} {resource}, assigned {amount}"
        for resource, amount in sorted(asked.items())
        if amount > there.get(resource, 0)
    )
    return next(found, "")
