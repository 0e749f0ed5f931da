"""Keep the pods of one attempt off single nodes, by the nodes' host names.

Only the controller does this, when it creates a component: the webhook cannot know which nodes an
attempt must avoid.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from shared.api.objects import JsonObject
from shared.injection.anti_affinity import (
    AntiAffinity,
    both,
    requested_resources,
    with_anti_affinity,
)
from shared.injection.fields import object_at, objects_in

LABEL_HOSTNAME: Final = "kubernetes.io/hostname"
# The highest weight among a template's preferences: it avoids a node that broke the last attempt.
WEIGHT: Final = 100
# Kueue places pods with this gate by the Workload alone, and never sees an injected affinity.
GATE_TOPOLOGY: Final = "kueue.x-k8s.io/topology"


@dataclass(frozen=True, slots=True, kw_only=True)
class AvoidedHosts:
    """Values of the label `kubernetes.io/hostname`.

    `by_resource` hosts are forbidden to pods that request the resource. Pods run on `unwanted`
    hosts only if no other node fits.
    """

    by_resource: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unwanted: tuple[str, ...] = ()


NO_HOSTS: Final = AvoidedHosts()


def keep_off(pod_template: JsonObject, avoided: AvoidedHosts, path: str) -> None:
    """Change `pod_template`, the caller's own copy, unless Kueue chooses the nodes.

    A second call changes nothing. Raise InjectionConflict for a field of the wrong type. `path` is
    the template's.
    """
    if placed_by_kueue(pod_template, path):
        return
    spec, here = pod_template["spec"], f"{path}.spec"
    wanted = AntiAffinity((), _of(avoided.unwanted), WEIGHT)
    for resource in requested_resources(spec, avoided.by_resource, here):
        wanted = both(wanted, AntiAffinity(_of(avoided.by_resource[resource]), (), WEIGHT))
    affinity = object_at(spec, "affinity", here)
    extended = with_anti_affinity(affinity, wanted, f"{here}.affinity")
    if extended is not affinity:
        spec["affinity"] = extended


def placed_by_kueue(pod_template: JsonObject, path: str) -> bool:
    """True if Kueue's topology places the template's pods. Raise InjectionConflict."""
    gates = objects_in(pod_template["spec"], "schedulingGates", f"{path}.spec")
    return any(gate.get("name") == GATE_TOPOLOGY for gate in gates)


def _of(hosts: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ((LABEL_HOSTNAME, hosts),) if hosts else ()
