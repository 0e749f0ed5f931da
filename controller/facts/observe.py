"""An AppWrapper, its components and its pods, put together as one moment. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from controller.facts.components import Located
from controller.facts.evacuation import UNWATCHED_NODES, NodeTags, find_evacuation
from controller.facts.pod_counts import Membership, count_pods, outlived, stragglers
from controller.facts.pods import Pod
from controller.phases.phase import Phase
from controller.phases.snapshot import FaultTolerance, Snapshot
from shared.api.appwrapper import AppWrapper
from shared.api.objects import PODS, Resource

# One moment of one AppWrapper: what was decided on, and what it takes to carry a decision out.


@dataclass(frozen=True, slots=True)
class Deployed:
    """An object of an AppWrapper that is there. `keep`: resets and suspensions leave it alone.

    Of a pod also `node`, where it is, and `leaves`, when the termination grace period ends that it
    was told (RFC 3339); each empty where there is none.
    """

    resource: Resource
    name: str
    uid: str
    deleting: bool
    keep: bool = False
    node: str = ""
    leaves: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """`deployed` holds the components that exist; `pods` the labelled pods, of every attempt.

    `helpers` are those of the components that only serve the others, `stragglers` those of the pods
    that are under way though their component ended well, `outlived` the components that have to go
    for their pods to go. `empty` are components that are being deleted and stay, though a list of
    this very pass proves that nothing they own is left. `silent_nodes` are those that cannot end
    their pods. `look_again` is set where no watch would tell of a change.
    """

    appwrapper: AppWrapper
    snapshot: Snapshot
    config: FaultTolerance
    deployed: tuple[Deployed, ...] = ()
    pods: tuple[Deployed, ...] = ()
    helpers: tuple[Deployed, ...] = ()
    stragglers: tuple[Deployed, ...] = ()
    outlived: tuple[Deployed, ...] = ()
    empty: tuple[Deployed, ...] = ()
    silent_nodes: frozenset[str] = frozenset()
    look_again: timedelta | None = None


# What every look at an AppWrapper begins with.


@dataclass(frozen=True, slots=True)
class Scene:
    """`snapshot` lacks components and pods so far; `now` is the time of the whole pass.

    `kept_may_stay`: where it is to be proved that all is gone, save for kept components.
    """

    appwrapper: AppWrapper
    snapshot: Snapshot
    config: FaultTolerance
    now: datetime
    nodes: NodeTags = field(default_factory=lambda: UNWATCHED_NODES)
    kept_may_stay: bool = False


# How soon a change is noticed that no watch tells of: of Secrets, and where watching is forbidden.
LOOK_AT_UNWATCHED: Final = timedelta(seconds=30)


def _membership(appwrapper: AppWrapper, located: Sequence[Located]) -> Membership:
    made = [each.facts for each in located if each.facts]
    return Membership(
        appwrapper_uid=appwrapper.uid,
        attempt=appwrapper.attempt,
        components=tuple(each.component for each in located),
        uids=tuple(each.facts.uid if each.facts else "" for each in located),
        # The Go operator counted no attempts; what it began and we went on with has no such label.
        taken_over=appwrapper.attempt == 0 or any(not facts.attempt for facts in made),
    )


def observe(scene: Scene, located: Sequence[Located], pods: Sequence[Pod]) -> Observation:
    """One moment of the AppWrapper."""
    appwrapper, snapshot, config = scene.appwrapper, scene.snapshot, scene.config
    membership = _membership(appwrapper, located)
    labelled = [pod for pod in pods if membership.is_own(pod)]
    current = [pod for pod in labelled if membership.is_current(pod)]
    deployed = [(each, found) for each in located if (found := _deployed(each)) is not None]
    whole = outlived(current, membership)
    snapshot = replace(
        snapshot,
        components=membership.components,
        pods=count_pods(current, membership, config, scene.now),
        labelled_pods=len(labelled),
        # As a rule no node has tags, and this is asked of every pod in every pass.
        evacuation=find_evacuation(current, membership, scene.nodes) if scene.nodes else None,
        # A kept component has no pods, and may stay.
        stray_pods=all(found.keep for _, found in deployed)
        and any(not pod.deleting for pod in labelled),
    )
    # Later its absence changes nothing, or whoever deletes it looks for it anyhow.
    missed = snapshot.phase in (Phase.RESUMING, Phase.RUNNING)
    unwatched = missed and any(each.component.exists and not each.watched for each in located)
    return Observation(
        appwrapper,
        snapshot,
        config,
        deployed=tuple(found for _, found in deployed),
        pods=tuple(_deployed_pod(pod) for pod in labelled),
        helpers=tuple(found for each, found in deployed if each.component.helper),
        stragglers=tuple(_deployed_pod(pod) for pod in stragglers(current, membership)),
        outlived=tuple(
            found
            for index, each in enumerate(located)
            if index in whole and (found := _deployed(each)) is not None
        ),
        look_again=LOOK_AT_UNWATCHED if unwatched else None,
    )


def _deployed(located: Located) -> Deployed | None:
    if located.resource is None or located.facts is None:
        return None
    facts = located.facts
    keep = located.component.keep
    return Deployed(located.resource, facts.name, facts.uid, facts.deleting, keep)


def _deployed_pod(pod: Pod) -> Deployed:
    return Deployed(PODS, pod.name, pod.uid, pod.deleting, node=pod.node, leaves=pod.leaves)
