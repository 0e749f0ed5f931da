"""Combine an AppWrapper, its components and its pods into one observation. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from controller.facts.attempt_number import is_lost
from controller.facts.component_status import deployed_status, kind_of, made_pod_sets, pods_in
from controller.facts.components import ComponentFacts
from controller.facts.deployed import DeployedObject, deployed_component, deployed_pod
from controller.facts.devices import HeldTaints, nothing_held, tainted_device
from controller.facts.error_store import StoreRead
from controller.facts.evacuation import UNWATCHED_NODES, NodeTags, find_evacuation
from controller.facts.failed_pods import evidence, on_bad_nodes
from controller.facts.gone_successes import with_successes
from controller.facts.kept_components import is_kept_at
from controller.facts.pod_counts import (
    Membership,
    awaited,
    count_pods,
    deleted_with_pods,
    stragglers,
)
from controller.facts.pod_names import too_large
from controller.facts.pod_reasons import NODE_REMOVED
from controller.facts.pods import Pod
from controller.facts.root_causes import find_root_cause
from controller.facts.suspects import known_silent, suspect_of
from controller.facts.unexpected_objects import Owned, find_unexpected
from controller.facts.unreachable import (
    EVERY_NODE_ANSWERS,
    SilentNodes,
    find_cut_off,
    find_lost,
    find_lost_in,
    find_unreachable,
)
from controller.facts.unschedulable import NoNode, NoNodeFor
from controller.phases.ask import Need
from controller.phases.phase import Phase
from controller.phases.root_cause import RootCause
from controller.phases.silent_nodes import UnreachablePods
from controller.phases.snapshot import (
    OFF,
    Component,
    Evacuation,
    FaultTolerance,
    PodCounts,
    Presence,
    Snapshot,
)
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import NO_PROGRESS, Terminal, condition
from shared.api.names import ANNOTATION_HELPER, CONDITION_PODS_READY, CONDITION_SUCCEEDED
from shared.api.objects import JsonObject, Resource
from shared.api.times import parse_time
from shared.kinds.table import record_of

# One component: its recorded state together with its object.


def counts_for(facts: ComponentFacts, appwrapper: AppWrapper, index: int) -> bool:
    """True if the object is the component: of this attempt, or kept from an earlier one."""
    return is_current(facts, appwrapper) or is_kept_at(appwrapper, index)


def is_current(facts: ComponentFacts, appwrapper: AppWrapper) -> bool:
    """True if of this attempt, or created by the Go operator, which did not count attempts.

    If the status lost the number, all objects are of the only attempt that can be under way.
    """
    return is_lost(appwrapper) or facts.attempt in ("", str(appwrapper.attempt))


def presence_of(facts: ComponentFacts) -> Presence:
    """Return the presence of an object that was found."""
    return Presence.DELETING if facts.deleting else Presence.PRESENT


def locate_from(
    appwrapper: AppWrapper,
    index: int,
    presence: Presence,
    resource: Resource | None,
    facts: ComponentFacts | None,
    last: ComponentFacts | None = None,
) -> Component:
    """Put a component together; `last`: its object as last seen, if it is gone."""
    recorded = appwrapper.component_statuses[index]
    kind = record_of(kind_of(recorded).group_kind)
    seen = facts or last
    succeeded = condition(recorded.get("conditions") or (), CONDITION_SUCCEEDED) or {}
    end_recorded = succeeded.get("status") == "True"
    failure_recorded = succeeded.get("status") == "False"
    terminal, message = (seen.terminal, seen.message) if seen else (None, "")
    progress = seen.progress if seen else NO_PROGRESS
    if failure_recorded and seen is None:  # its own message is lost
        terminal, message = Terminal.FAILED, succeeded.get("message") or ""
    return Component(
        name=recorded.get("name") or "",
        kind=recorded.get("kind") or "",
        presence=presence,
        expected_pods=pods_in({"podSets": made_pod_sets(appwrapper.component_statuses, index)}),
        reports=kind.ends is True,
        endless=kind.ends is False,
        has_surviving_children=kind.has_surviving_children,
        helper=any(map(is_helper, appwrapper.components[index : index + 1])),
        keep=is_kept_at(appwrapper, index),
        terminal=terminal or (Terminal.SUCCEEDED if end_recorded else None),
        end_recorded=end_recorded,
        failure_recorded=failure_recorded,
        message=message,
        invalid=bool(seen and seen.invalid),
        rejectable=bool(kind.rejections),
        succeeded_pods=progress.succeeded,
        succeeded_indices=progress.indices,
        succeeded_by_owner=progress.by_owner,
        wanted_pods=progress.wanted,
        deletion_deadline=parse_time(facts.deletion_deadline)
        if facts and facts.deletion_deadline
        else None,
        announced=deployed_status(recorded) == "Unknown",
        uid=facts.uid if facts else "",
        attempt=facts.attempt if facts else "",
        deleting=bool(facts and facts.deleting),
        idle=bool(facts and facts.idle),
        resource=resource,
        watched=facts is None or facts.labelled,
    )


def is_helper(component: JsonObject) -> bool:
    """True if the user annotated it so. Kueue drops unknown fields but keeps annotations."""
    return (component.get("annotations") or {}).get(ANNOTATION_HELPER) == "true"


@dataclass(frozen=True, slots=True)
class Observation:
    """`deployed`: the existing components, unexpected ones too. `pods`: the labelled pods of every
    attempt. `unexpected`: objects that the phase and attempt cannot have, to delete now.

    `helpers`: components that only serve the others. `stragglers`: unfinished pods of a component
    that ended well or is gone. `deleted_with_pods`: components whose pods go only together with
    them. `empty`: terminating components that own nothing any more, as a list of this pass proves.
    `silent_nodes`: nodes that cannot stop their pods. `look_again`: when to read again if no watch
    would report a change.
    """

    appwrapper: AppWrapper
    snapshot: Snapshot
    config: FaultTolerance
    deployed: tuple[DeployedObject, ...] = ()
    pods: tuple[DeployedObject, ...] = ()
    helpers: tuple[DeployedObject, ...] = ()
    stragglers: tuple[DeployedObject, ...] = ()
    deleted_with_pods: tuple[DeployedObject, ...] = ()
    unexpected: tuple[DeployedObject, ...] = ()
    empty: tuple[DeployedObject, ...] = ()
    silent_nodes: frozenset[str] = frozenset()
    look_again: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Reads:
    """The answers of one pass over one AppWrapper so far. `now`: the time of the pass.

    `observation` has no objects until the pass observes `components` and `pods`: the labelled pods
    of the cache, until the pass reads them live.
    `kept_may_stay`: the proof of deletion ignores kept components.
    `successes`, `failures`: pods that ended before their deletion, even if they are gone.
    `store`: the attempt's error records. `flagged`: bad resources by node, from labels.
    `silent`: since when nodes do not answer; `removed`: those of them that no longer exist, as live
    reads prove. `held`: returns the taints of a pod's devices. `largest`: returns the most of each
    resource that one node has. `no_node_for`: returns which pods no node can hold.
    `owned`: the cached objects that the AppWrapper controls. `absent`: UIDs of objects that are
    gone although a cache may still show them. `collected`: UIDs of components whose pods the
    garbage collector deletes.
    """

    observation: Observation
    now: datetime
    components: Sequence[Component] = ()
    pods: Sequence[Pod] = ()
    nodes: NodeTags = field(default_factory=lambda: UNWATCHED_NODES)
    flagged: Mapping[str, Collection[str]] = field(default_factory=lambda: UNWATCHED_NODES)
    silent: SilentNodes = field(default_factory=lambda: EVERY_NODE_ANSWERS)
    held: HeldTaints = nothing_held
    removed: Collection[str] = ()
    largest: Callable[[], Mapping[str, Decimal]] = dict
    no_node_for: NoNodeFor = lambda pods, now: NoNode()
    kept_may_stay: bool = False
    successes: tuple[Pod, ...] = ()
    failures: tuple[Pod, ...] = ()
    store: StoreRead | None = None
    owned: Sequence[Owned] = ()
    absent: Collection[str] = ()
    collected: Collection[str] = ()

    @property
    def appwrapper(self) -> AppWrapper:
        """The AppWrapper."""
        return self.observation.appwrapper

    @property
    def snapshot(self) -> Snapshot:
        """The input of the decision."""
        return self.observation.snapshot

    @property
    def config(self) -> FaultTolerance:
        """Its fault tolerance."""
        return self.observation.config

    def knowing(self, **facts: Any) -> "Reads":
        """Return the reads with these fields of the snapshot."""
        snapshot = replace(self.snapshot, **facts)
        return replace(self, observation=replace(self.observation, snapshot=snapshot))

    def having(self, need: Need, **facts: Any) -> "Reads":
        """Return the reads with `need` answered."""
        return self.knowing(unread=self.snapshot.unread - {need}, **facts)


# How often unwatched components are read: Secrets, and Kinds without a watch.
LOOK_AT_UNWATCHED: Final = timedelta(seconds=30)
LOOK_AT_UNEXPECTED: Final = timedelta(seconds=5)  # until a rejected delete is sent again


def membership_of(appwrapper: AppWrapper, components: Sequence[Component]) -> Membership:
    """Return the criteria that identify the AppWrapper's pods."""
    # The Go operator counted no attempts, so objects that it created have no such label.
    taken_over = any(each.uid and not each.attempt for each in components)
    return Membership(
        appwrapper_uid=appwrapper.uid,
        attempt=appwrapper.attempt,
        components=tuple(components),
        taken_over=appwrapper.attempt == 0 or taken_over,
    )


def _evacuation(reads: Reads, current: Sequence[Pod], membership: Membership) -> Evacuation | None:
    # Usual: nothing is tagged or tainted, and the search reads every pod in every pass.
    if not reads.nodes and reads.held is nothing_held:
        return None
    topology = bool(reads.snapshot.topology_workload)
    return find_evacuation(current, membership, reads.nodes, reads.held, topology=topology)


def _unreachable(
    reads: Reads, current: Iterable[Pod], membership: Membership
) -> UnreachablePods | None:
    if not reads.silent:
        return None
    known = known_silent(reads.appwrapper.status, reads.now)
    return find_unreachable(current, membership, reads.silent, known, reads.removed)


def _lost(
    reads: Reads, counts: PodCounts, failed: Sequence[Pod], cause: RootCause | None
) -> UnreachablePods | None:
    """Return the pods that are gone with their node, if no other failure came first."""
    missing = counts.existing < counts.wanted
    if not (missing or cause):
        return None  # as on nearly every pass
    reported = reads.snapshot.text_of(CONDITION_PODS_READY).message
    known = known_silent(reads.appwrapper.status, reads.now)
    if cause is None:
        return find_lost_in(reported, known, reads.silent)
    if cause.infrastructure != NODE_REMOVED:
        return None
    return find_lost(failed, reported, known, reads.now)


def observe(reads: Reads) -> Observation:
    """Return the observation of the AppWrapper at one moment."""
    appwrapper, snapshot, config = reads.appwrapper, reads.snapshot, reads.config
    components = reads.components
    membership = membership_of(appwrapper, components)
    own = [pod for pod in reads.pods if membership.is_own(pod)]
    current = [pod for pod in own if membership.is_current(pod)]
    successes = [pod for pod in reads.successes if membership.is_current(pod)]
    deployed = [
        (index, found)
        for index, each in enumerate(components)
        if (found := deployed_component(each)) is not None
    ]
    whole = deleted_with_pods(current, membership)
    unexpected = find_unexpected(appwrapper, snapshot, reads.owned, own, reads.absent)
    counted = with_successes(current, successes, membership)
    failed = _failed(reads, counted, membership)
    cause = _root_cause(reads, counted, failed, membership)
    counts = count_pods(counted, membership, config, reads.now, reads.silent)
    deployed_pods = tuple(deployed_pod(pod) for pod in own)
    no_node = _no_node(counts, current, reads, membership)
    snapshot = replace(
        snapshot,
        components=membership.components,
        pods=replace(_with_too_large(counts, own, reads), no_node=no_node.text),
        root_cause=None if config.error_aggregation == OFF else cause,
        suspect=suspect_of(cause) if config.remember_suspects else None,
        labelled_pods=len(own),
        evacuation=_evacuation(reads, current, membership),
        unreachable=_unreachable(reads, current, membership),
        lost=_lost(reads, counts, failed, cause),
        cut_off=find_cut_off(deployed_pods, reads.silent),
        # A kept component has no pods, and may stay.
        stray_pods=all(found.keep for _, found in deployed)
        and not unexpected.components
        and not any(each.makes_unseen for each in membership.components)
        and any(not pod.deleting and pod.owner_uid not in reads.collected for pod in own),
        unexpected_due=bool(unexpected.due),
        unexpected_alive=unexpected.alive,
        gone=False,  # an earlier proof does not cover what was read since
        blockers=(),
        forced_off=(),
    )
    looks = [] if no_node.look_again is None else [no_node.look_again]
    if _may_be_missed(snapshot) or reads.removed:
        looks.append(LOOK_AT_UNWATCHED)
    if unexpected.due:
        looks.append(LOOK_AT_UNEXPECTED)
    return Observation(
        appwrapper,
        snapshot,
        config,
        deployed=(*(found for _, found in deployed), *unexpected.components),
        pods=deployed_pods,
        helpers=tuple(found for index, found in deployed if components[index].helper),
        stragglers=tuple(deployed_pod(pod) for pod in stragglers(current, membership)),
        deleted_with_pods=tuple(found for index, found in deployed if index in whole),
        unexpected=unexpected.due,
        look_again=min(looks, default=None),
    )


def _with_too_large(counts: PodCounts, own: Iterable[Pod], reads: Reads) -> PodCounts:
    """If the scheduler rejects pods, add the request that no node can satisfy."""
    if not counts.rejected:
        return counts
    labelled = [pod for pod in own if pod.appwrapper_uid]
    return replace(counts, too_large=too_large(labelled, reads.largest()))


def _no_node(
    counts: PodCounts, current: Iterable[Pod], reads: Reads, membership: Membership
) -> NoNode:
    """Return which pod no node can hold, if the AppWrapper then fails."""
    asked = reads.config.fail_unschedulable and reads.snapshot.phase is Phase.RUNNING
    if not counts.rejected or not asked:
        return NoNode()
    waiting = [pod for pod in awaited(current, membership) if pod.unscheduled and not pod.deleting]
    return reads.no_node_for(waiting, reads.now) if waiting else NoNode()


def _may_be_missed(snapshot: Snapshot) -> bool:
    """True if the deletion of a component matters and no watch would report it.

    In other phases its absence changes nothing, or the deletion searches for it anyway.
    """
    missed = snapshot.phase in (Phase.RESUMING, Phase.RUNNING)
    return missed and any(each.exists and not each.watched for each in snapshot.components)


def _failed(reads: Reads, pods: Sequence[Pod], membership: Membership) -> Sequence[Pod]:
    """Return the pods of the attempt whose failures count, with those that are gone."""
    failing = any(pod.phase == "Failed" or pod.ends for pod in pods)
    if not (failing or reads.failures):
        return ()  # as on nearly every pass
    return evidence(pods, filter(membership.is_current, reads.failures), membership)


def _root_cause(
    reads: Reads, pods: Sequence[Pod], failed: Sequence[Pod], membership: Membership
) -> RootCause | None:
    if not (failed or reads.store):
        return None
    seen = filter(membership.is_current, reads.failures)
    known = {pod.uid for pod in failed}
    return find_root_cause(
        failed,
        reads.config,
        others=[pod for pod in [*seen, *pods] if pod.uid not in known],
        store=reads.store,
        flagged_nodes=on_bad_nodes(failed, reads.nodes, reads.flagged),
        tainted={pod.uid: text for pod in failed if (text := tainted_device(reads.held(pod.uid)))},
        attempt=reads.appwrapper.attempt,
        now=reads.now,
    )
