"""Find objects that an AppWrapper's phase and attempt cannot have. Pure.

A create may take effect after its sender died, gave up, or was frozen while another process went
on: the API server carries out a request that it has received. The object then belongs to an attempt
that has ended, and it uses quota that nothing accounts for.

An object of a later attempt is never unexpected: this process is behind, and the write of its next
decision fails. An object of the current attempt is unexpected only in a state that the attempt
never leaves, so a process that is behind cannot delete what another one has just created.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from controller.facts.attempt_number import is_number
from controller.facts.components import ComponentFacts
from controller.facts.deployed import DeployedObject, deployed_object, deployed_pod
from controller.facts.kept_components import is_kept_at
from controller.facts.pods import Pod
from controller.phases.phase import Phase
from controller.phases.snapshot import Snapshot
from shared.api.appwrapper import AppWrapper
from shared.api.names import CONDITION_RESOURCES_DEPLOYED
from shared.api.objects import Resource

Owned = tuple[Resource, ComponentFacts]


@dataclass(frozen=True, slots=True)
class Unexpected:
    """`components`: the unexpected ones. `due`: the components and pods to delete now.

    `alive`: some of them may use quota: a pod that has not ended, or a component that is not being
    deleted and so may create pods.
    """

    components: tuple[DeployedObject, ...] = ()
    due: tuple[DeployedObject, ...] = ()
    alive: bool = False


def may_have_objects(snapshot: Snapshot) -> bool:
    """True if objects of the current attempt may exist in this phase.

    Once it is False, it stays False until the next attempt begins.
    """
    match snapshot.phase:
        case Phase.EMPTY | Phase.SUSPENDED:
            return False
        case Phase.RESETTING:
            return snapshot.timers.retry_pause is None
        case Phase.SUCCEEDED | Phase.FAILED:
            return CONDITION_RESOURCES_DEPLOYED in snapshot.conditions
    return True


def is_unexpected(label: str, appwrapper: AppWrapper, snapshot: Snapshot) -> bool:
    """True if an object with this attempt label cannot belong to the present state.

    An object without the label is never unexpected: the Go operator created it, or a user did.
    """
    if not is_number(label):
        return False
    number, current = int(label), appwrapper.attempt
    return number < current or (number == current and not may_have_objects(snapshot))


def find_unexpected(
    appwrapper: AppWrapper,
    snapshot: Snapshot,
    owned: Iterable[Owned],
    pods: Iterable[Pod],
    absent: Collection[str] = (),
) -> Unexpected:
    """Return the unexpected objects among the AppWrapper's cached ones.

    `owned`: objects that it controls. `pods`: its labelled pods of any attempt. `absent`: UIDs of
    objects that are gone although a cache may still show them. A component takes its pods along, so
    these are due only if no component of their attempt and index exists. Kept components survive
    their attempt.
    """
    components = {
        facts.uid: (resource, facts)
        for resource, facts in owned
        if is_unexpected(facts.attempt, appwrapper, snapshot)
        and facts.component is not None
        and not is_kept_at(appwrapper, facts.component)
        and facts.uid not in absent
    }
    found = [
        pod
        for pod in pods
        if is_unexpected(pod.attempt, appwrapper, snapshot) and pod.uid not in absent
    ]
    if not components and not found:
        return Unexpected()
    makers = {(facts.attempt, facts.component) for _, facts in components.values()}
    deployed = tuple(deployed_object(*each) for each in components.values())
    alone = (pod for pod in found if (pod.attempt, pod.component) not in makers)
    return Unexpected(
        components=deployed,
        due=tuple(each for each in (*deployed, *map(deployed_pod, alone)) if not each.deleting),
        alive=any(not each.deleting for each in deployed)
        or any(pod.phase not in ("Succeeded", "Failed") for pod in found),
    )
