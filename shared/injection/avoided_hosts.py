"""Keeping the pods of one attempt off single nodes, by the nodes' host names.

Only the controller does this, when it creates a component: the webhook cannot know which nodes an
attempt must avoid.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
# Beside the preferences of a template: a node that broke the last attempt is worth avoiding most.
WEIGHT: Final = 100
# Kueue places such pods itself, by what the Workload says; it never sees what is injected here.
GATE_TOPOLOGY: Final = "kueue.x-k8s.io/topology"


@dataclass(frozen=True, slots=True, kw_only=True)
class AvoidedHosts:
    """Values of the label `kubernetes.io/hostname`.

    `by_resource` are forbidden to pods that ask for the resource, `forbidden` to all pods; pods
    go to `unwanted` ones only when there is no other place.
    """

    by_resource: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    forbidden: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()

    def and_of(self, by_resource: Mapping[str, tuple[str, ...]]) -> "AvoidedHosts":
        """With more that are forbidden to pods that ask for a resource."""
        resources = dict.fromkeys((*self.by_resource, *by_resource))
        merged = {
            name: (*self.by_resource.get(name, ()), *by_resource.get(name, ()))
            for name in resources
        }
        return replace(self, by_resource=merged)


NO_HOSTS: Final = AvoidedHosts()


def keep_off(pod_template: JsonObject, avoided: AvoidedHosts, path: str) -> None:
    """Changes `pod_template`, the caller's own copy; not where Kueue chooses the nodes.

    Doing it twice changes nothing. Raises InjectionConflict for a field of another type than it
    must be. `path` is the template's.
    """
    if placed_by_kueue(pod_template, path):
        return
    spec, here = pod_template["spec"], f"{path}.spec"
    wanted = AntiAffinity(_of(avoided.forbidden), _of(avoided.unwanted), WEIGHT)
    for resource in requested_resources(spec, avoided.by_resource, here):
        wanted = both(wanted, AntiAffinity(_of(avoided.by_resource[resource]), (), WEIGHT))
    affinity = object_at(spec, "affinity", here)
    extended = with_anti_affinity(affinity, wanted, f"{here}.affinity")
    if extended is not affinity:
        spec["affinity"] = extended


def placed_by_kueue(pod_template: JsonObject, path: str) -> bool:
    """Whether the template is under a topology of Kueue's. Raises InjectionConflict."""
    gates = objects_in(pod_template["spec"], "schedulingGates", f"{path}.spec")
    return any(gate.get("name") == GATE_TOPOLOGY for gate in gates)


def _of(hosts: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return ((LABEL_HOSTNAME, hosts),) if hosts else ()
