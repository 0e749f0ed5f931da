"""Prove by live reads that everything an AppWrapper deployed is gone, or explain what remains.

Absence from a cache proves nothing. During a short deletion, caches decide whether something
remains. A long deletion is checked by live reads once, again after a change, and at intervals while
it is forced: a watch event may have been lost, or never come because the Kind is gone.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from controller.facts.component_status import deployed_status, kind_of, made_pod_sets
from controller.facts.deployed import DeployedObject
from controller.facts.observe import Observation, Reads, is_helper, observe
from controller.facts.pods import Pod, project_pod
from controller.gather.component_reads import ComponentLocator
from controller.gather.live_pods import LivePods
from controller.gather.owned_objects import BlockerSearch, LiveLists, orphaned_owners, unread
from controller.gather.unserved_kinds import UnservedKinds
from controller.memory.deletions import Deletions
from controller.phases.snapshot import Component, Presence, Snapshot
from controller.phases.timers import ZERO, remaining
from controller.reports.deleting_resources import (
    EXPLAIN_AFTER,
    EXPLAIN_AGAIN,
    STILL_SETTLING,
    LeftPod,
    blockers,
    project_left_pod,
)
from shared.api.appwrapper import AppWrapper
from shared.api.names import CONDITION_PODS_READY
from shared.api.objects import JsonObject
from shared.api.times import parse_time
from shared.kinds.table import BY_GROUP_KIND
from shared.kube.client import KubeClient
from shared.kube.discovery import Discovery

# A controller that creates pods notices the deletion of their owner only when it next reads the
# owner, and still sends the creates that it has begun. So if a deletion interrupted the creation of
# pods, all must stay gone for this long. The same holds if another client deleted an owner in the
# background or orphaned its objects: the pods are deleted together with the owner, and its
# controller may recreate them before it notices. A foreground deletion, as the controller sends it,
# marks the owner before its pods are deleted.
SETTLING: Final = timedelta(seconds=3)


class DeletionProof:
    def __init__(
        self,
        client: KubeClient,
        discovery: Discovery,
        locator: ComponentLocator,
        unserved: UnservedKinds,
        deletions: Deletions,
        live_pods: LivePods,
    ) -> None:
        self._locator = locator
        self._unserved = unserved
        self._deletions = deletions
        self._live_pods = live_pods
        self._lists = LiveLists(client, discovery, unserved)
        self._search = BlockerSearch(client, self._lists, unserved, deletions)

    async def observe(self, reads: Reads) -> Observation:
        """Return the observation, with `gone` set if live reads prove it. Raises KubeError."""
        seen = observe(reads)
        if _are_all_made(seen.snapshot):
            self._deletions.of(reads.appwrapper.uid).complete = reads.appwrapper.attempt
        if _is_left(reads, seen) and self._may_believe(reads, seen):
            self._deletions.find_left(reads.appwrapper.uid)
            return self._with_explanation(reads, _with_unread(seen))
        return await self._look_live(reads, seen)

    async def _look_live(self, reads: Reads, seen: Observation) -> Observation:
        """Read components, then orphaned owners, then pods: each may create the next.

        `seen`: what caches show.
        """
        cached = [each.uid for each in (*_to_go(reads, seen), *seen.pods)]
        left = self._left(reads, seen)
        appwrapper = reads.appwrapper
        components = await self._locator.locate_live(appwrapper, reads.components)
        components = tuple(_doubted(reads, index, each) for index, each in enumerate(components))
        components = await self._unserved.settle(appwrapper, components)
        makers, unproved = await orphaned_owners(self._lists, appwrapper, components)
        if makers:
            self._deletions.of(appwrapper.uid).makers = True
        listed = await self._pods(reads)
        reads = replace(reads, components=components, pods=[pod for pod, _ in listed])
        found = observe(reads)
        found = _with_makers(found, makers)
        if not unproved and not _is_left(reads, found):
            return self._gone(reads, found, cached)
        self._deletions.find_left(appwrapper.uid)
        if unproved or not _is_long(reads):
            return _with_unread(found, unproved)
        own = {pod.uid for pod in found.pods}
        pods = [left for pod, left in listed if pod.uid in own]
        return await self._explained(reads, found, pods, left)

    async def _pods(self, reads: Reads) -> list[tuple[Pod, LeftPod]]:
        """List the pods, each as decisions and as messages need it; drop the large objects."""

        def kept(item: JsonObject) -> tuple[Pod, LeftPod]:
            left = project_left_pod(item, self._refusal(reads, item), reads.now)
            return project_pod(item), left

        return await self._live_pods.read((reads.appwrapper.namespace, reads.appwrapper.name), kept)

    def _refusal(self, reads: Reads, item: JsonObject) -> str:
        return self._deletions.known(reads.appwrapper.uid).refused.get(item["metadata"]["uid"], "")

    def _gone(self, reads: Reads, found: Observation, cached: Collection[str]) -> Observation:
        """Set `gone`, or wait for SETTLING if a controller may still be creating pods."""
        owner = reads.appwrapper.uid
        if self._may_be_making(reads):
            wait = self._deletions.clear_since(owner, reads.now) + SETTLING - reads.now
            if wait > ZERO:
                blockers = (STILL_SETTLING,) if _is_long(reads) else ()
                snapshot = replace(found.snapshot, blockers=blockers)
                return replace(found, snapshot=snapshot, look_again=wait)
        self._deletions.end(owner, cached)
        return replace(found, snapshot=replace(found.snapshot, gone=True))

    def _may_be_making(self, reads: Reads) -> bool:
        """True unless all pods existed and their controllers could see the deletion in time."""
        appwrapper = reads.appwrapper
        entries = appwrapper.component_statuses
        made = [each for at, each in enumerate(entries) if _is_made_of_pods(entries, at)]
        makers = [each for each in made if not self._was_idle(appwrapper, each)]
        if not makers:
            return False
        if not self._were_all_made(reads) or self._deletions.known(appwrapper.uid).makers:
            return True
        return not all(self._was_announced(appwrapper, each) for each in makers)

    def _were_all_made(self, reads: Reads) -> bool:
        """True if all pods existed at some time. PodsReady does not cover helpers' pods."""
        appwrapper = reads.appwrapper
        helped = any(map(is_helper, appwrapper.components))
        if CONDITION_PODS_READY in reads.snapshot.conditions and not helped:
            return True
        return self._deletions.known(appwrapper.uid).complete == appwrapper.attempt

    def _was_idle(self, appwrapper: AppWrapper, recorded: JsonObject) -> bool:
        """True if nothing made pods for the component any more when it was deleted.

        Its operator wrote its end before that, and so learned of it in time.
        """
        kind, name = kind_of(recorded).group_kind, recorded.get("name") or ""
        return self._deletions.was_idle(appwrapper.uid, appwrapper.attempt, kind, name)

    def _was_announced(self, appwrapper: AppWrapper, recorded: JsonObject) -> bool:
        """True if the component's controller could see its deletion before the pods were gone."""
        group_kind = kind_of(recorded).group_kind
        kind = BY_GROUP_KIND.get(group_kind)
        if kind is not None and kind.finalizes_pods:
            return True
        name = recorded.get("name") or ""
        return self._deletions.was_announced(appwrapper.uid, appwrapper.attempt, group_kind, name)

    async def _explained(
        self,
        reads: Reads,
        found: Observation,
        pods: Sequence[LeftPod],
        left: frozenset[object],
    ) -> Observation:
        to_go, forcing = _to_go(reads, found), _is_forced(reads)
        explanation, empty = await self._search.explain(reads, to_go, pods, forcing=forcing)
        explanation = replace(explanation, left=left)
        self._deletions.of(reads.appwrapper.uid).explanation = explanation
        return replace(self._with_explanation(reads, found), empty=empty)

    def _may_believe(self, reads: Reads, seen: Observation) -> bool:
        """True if nothing contradicts what the caches show as remaining."""
        owner = reads.appwrapper.uid
        to_go = _to_go(reads, seen)
        if not to_go and seen.snapshot.stray_pods:
            return False  # an orphaned owner may keep creating them
        left = [*to_go, *seen.pods]
        if left and all(each.uid in self._deletions.known(owner).absent for each in left):
            return False
        if not _is_long(reads):
            return True
        explanation = self._deletions.known(owner).explanation
        if explanation is None or explanation.forcing is not _is_forced(reads):
            return False
        age = reads.now - explanation.at
        unchanged = not explanation.forcing and explanation.left == self._left(reads, seen)
        return age >= ZERO and (age < EXPLAIN_AGAIN or unchanged)

    def _left(self, reads: Reads, seen: Observation) -> frozenset[object]:
        """Return what the caches show of the remaining objects, to notice a change."""
        refused = self._deletions.known(reads.appwrapper.uid).refused
        return frozenset(
            {
                (each.uid, each.deleting, _is_due(each, reads.now), refused.get(each.uid))
                for each in (*_to_go(reads, seen), *seen.pods)
            }
            | {
                (each.name, each.presence, each.unreadable, None)
                for each in seen.snapshot.components
                if each.presence is Presence.UNKNOWN
            }
        )

    def _with_explanation(self, reads: Reads, seen: Observation) -> Observation:
        explanation = self._deletions.known(reads.appwrapper.uid).explanation
        if explanation is None or not _is_long(reads):
            return seen
        forced_off = explanation.forced_off if seen.pods else ()
        snapshot = replace(seen.snapshot, blockers=explanation.blockers, forced_off=forced_off)
        return replace(seen, snapshot=snapshot, silent_nodes=explanation.silent_nodes)


def _are_all_made(snapshot: Snapshot) -> bool:
    helpers = sum(each.expected_pods for each in snapshot.components if each.helper)
    pods = snapshot.pods
    return pods.existing >= pods.expected and pods.unawaited >= helpers


def _is_made_of_pods(entries: Sequence[JsonObject], index: int) -> bool:
    """True if a controller creates the component's pods and the component may exist."""
    recorded = entries[index]
    if not made_pod_sets(entries, index) or recorded.get("kind") == "Pod":
        return False
    return deployed_status(recorded) in ("True", "Unknown")


def _with_unread(found: Observation, unproved: Sequence[str] = ()) -> Observation:
    """Add blockers for what cannot be read: waiting does not help, so report them at once."""
    texts = (*blockers(unread(found.snapshot.components), (), {}, 0), *unproved)
    return replace(found, snapshot=replace(found.snapshot, blockers=texts)) if texts else found


def _with_makers(found: Observation, makers: Sequence[DeployedObject]) -> Observation:
    """Add orphaned owners of pods: they are deleted like components."""
    stray = found.snapshot.stray_pods or any(not each.deleting for each in makers)
    snapshot = replace(found.snapshot, stray_pods=stray)
    return replace(found, deployed=(*found.deployed, *makers), snapshot=snapshot)


def _to_go(reads: Reads, observation: Observation) -> list[DeployedObject]:
    spared = reads.kept_may_stay
    return [each for each in observation.deployed if not (spared and each.keep)]


def _is_left(reads: Reads, observation: Observation) -> bool:
    spared = reads.kept_may_stay
    unknown = any(
        each.presence is Presence.UNKNOWN and not (spared and each.keep)
        for each in observation.snapshot.components
    )
    return bool(_to_go(reads, observation) or observation.pods or unknown)


def _doubted(reads: Reads, index: int, component: Component) -> Component:
    """Set a component of an unserved Kind to UNKNOWN if its fate is uncertain.

    Status may announce a component that was then created. Only a refused create, or one never sent,
    proves that it never existed.
    """
    problem = reads.snapshot.create_problem
    if component.resource is not None or not component.name or not component.announced:
        return component
    if problem is not None and problem.refused is not None and index >= problem.refused:
        return component
    return replace(component, presence=Presence.UNKNOWN)


def _is_due(target: DeployedObject, now: datetime) -> bool:
    """True if the pod's grace period is over."""
    return bool(target.deletion_deadline) and parse_time(target.deletion_deadline) <= now


def _is_long(reads: Reads) -> bool:
    """True if the deletion has lasted EXPLAIN_AFTER, or its grace period is over."""
    began = reads.snapshot.timers.forceful_deletion
    if began is None:
        return False
    return reads.now - began >= EXPLAIN_AFTER or _is_forced(reads)


def _is_forced(reads: Reads) -> bool:
    began = reads.snapshot.timers.forceful_deletion
    if began is None:
        return False
    return remaining(began, reads.config.forceful_deletion_grace, reads.now) == ZERO
