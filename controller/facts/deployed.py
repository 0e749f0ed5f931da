"""Existing objects of an AppWrapper, as the controller deletes them."""

from dataclasses import dataclass

from controller.facts.components import ComponentFacts, Located
from controller.facts.pods import Pod
from shared.api.objects import PODS, Resource


@dataclass(frozen=True, slots=True)
class Deployed:
    """An existing object of an AppWrapper. `keep`: resets and suspensions do not delete it.

    `attempt`: its label; empty for an object of the Go operator.
    Only pods have `node` and `leaves` (the end of the termination grace period, RFC 3339).
    """

    resource: Resource
    name: str
    uid: str
    deleting: bool
    keep: bool = False
    attempt: str = ""
    node: str = ""
    leaves: str = ""


def deployed_component(located: Located) -> Deployed | None:
    """Return the object of a component; None without one."""
    if located.resource is None or located.facts is None:
        return None
    return deployed_object(located.resource, located.facts, keep=located.component.keep)


def deployed_object(resource: Resource, facts: ComponentFacts, *, keep: bool = False) -> Deployed:
    """Return an object of a component's Kind."""
    return Deployed(resource, facts.name, facts.uid, facts.deleting, keep, facts.attempt)


def deployed_pod(pod: Pod) -> Deployed:
    """Return a pod."""
    name, uid, deleting, attempt = pod.name, pod.uid, pod.deleting, pod.attempt
    return Deployed(PODS, name, uid, deleting, False, attempt, pod.node, pod.leaves)
