"""Existing objects of an AppWrapper, as the controller deletes them."""

from dataclasses import dataclass

from controller.facts.components import ComponentFacts
from controller.facts.pods import Pod
from controller.phases.snapshot import Component
from shared.api.objects import PODS, Resource


@dataclass(frozen=True, slots=True)
class DeployedObject:
    """An existing object of an AppWrapper. `keep`: resets and suspensions do not delete it.

    `attempt`: its label; empty for an object of the Go operator. `idle`: nothing makes pods for
    it.
    Only pods have `node` and `deletion_deadline` (the end of the termination grace period,
    RFC 3339).
    """

    resource: Resource
    name: str
    uid: str
    deleting: bool
    keep: bool = False
    attempt: str = ""
    node: str = ""
    deletion_deadline: str = ""
    idle: bool = False


def deployed_component(component: Component) -> DeployedObject | None:
    """Return the object of a component; None without one."""
    if component.resource is None or not component.uid:
        return None
    name, uid, deleting = component.name, component.uid, component.deleting
    keep, attempt = component.keep, component.attempt
    return DeployedObject(
        component.resource, name, uid, deleting, keep, attempt, idle=component.idle
    )


def deployed_object(resource: Resource, facts: ComponentFacts) -> DeployedObject:
    """Return an object of a component's Kind."""
    name, uid, deleting, attempt = facts.name, facts.uid, facts.deleting, facts.attempt
    return DeployedObject(resource, name, uid, deleting, attempt=attempt, idle=facts.idle)


def deployed_pod(pod: Pod) -> DeployedObject:
    """Return a pod."""
    name, uid, deleting, attempt = pod.name, pod.uid, pod.deleting, pod.attempt
    return DeployedObject(
        PODS, name, uid, deleting, False, attempt, pod.node, pod.deletion_deadline
    )
