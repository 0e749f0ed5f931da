"""Looks at one AppWrapper and all that belongs to it. Raises if it cannot see."""

import logging
from dataclasses import replace
from datetime import datetime
from typing import Final

from controller.facts.components import (
    is_lost,
    told_by,
    was_deployed,
    with_attempt,
    with_sound_record,
)
from controller.facts.evacuation import UNWATCHED_NODES, NodeTags
from controller.facts.observe import Observation, Scene, observe
from controller.facts.own_status import effective_fault_tolerance, known_phase, own_words
from controller.facts.pods import Pod
from controller.gather.components import ComponentLocator
from controller.gather.deletion_proof import DeletionProof, list_live_pods
from controller.gather.unserved_kinds import UnservedKinds
from controller.memory import Creations, Deletions, Sightings
from controller.phases.deletion import wants_proof
from controller.phases.phase import Phase
from controller.phases.snapshot import Component, PodSetInfos, Presence, Snapshot
from controller.phases.success import awaits_stragglers, has_ended_well
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import Terminal
from shared.api.objects import NAMESPACES, GroupVersionKind, JsonObject
from shared.config.configuration import AppWrapperConfig
from shared.kube.client import KubeClient
from shared.kube.informer import Informer
from shared.process.logs import object_fields

# Where no Kueue is installed, a queue's name means nothing.

# What Kueue keeps its decisions in, in whatever version; there is no Kueue without them.
_WORKLOADS: Final = GroupVersionKind("kueue.x-k8s.io", "v1beta1", "Workload")


async def unless_kueue_is_missing(snapshot: Snapshot, unserved: UnservedKinds) -> Snapshot:
    """The same, but queued no longer where nobody can ever admit it. Raises KubeError.

    Under Kueue next to none are looked into: it suspends those of a queue when they are created.
    """
    waits = (
        snapshot.phase is Phase.SUSPENDED
        and snapshot.queued
        and not snapshot.suspend
        and snapshot.pod_set_infos is not PodSetInfos.COMPLETE
    )
    if not waits or await unserved.obstacle(_WORKLOADS):
        return snapshot
    return replace(snapshot, queued=False)


logger = logging.getLogger(__name__)

Key = tuple[str, str]  # namespace, name
PODS_BY_APPWRAPPER = "appwrapper"


def by_appwrapper(pod: Pod) -> tuple[Key]:
    """The pod informer's index of the name PODS_BY_APPWRAPPER."""
    return ((pod.namespace, pod.appwrapper),)


class SnapshotGatherer:
    """Reads caches, and the API server where a cache is no proof."""

    def __init__(
        self,
        client: KubeClient,
        appwrappers: Informer[JsonObject],
        pods: Informer[Pod],
        locator: ComponentLocator,
        creations: Creations,
        sightings: Sightings,
        unserved: UnservedKinds,
        deletions: Deletions,
        behaviour: AppWrapperConfig,
        nodes: NodeTags = UNWATCHED_NODES,
    ) -> None:
        self._client = client
        self._appwrappers = appwrappers
        self._pods = pods
        self._locator = locator
        self._unserved = unserved
        self._proof = DeletionProof(client, locator, unserved, deletions)
        self._creations = creations
        self._sightings = sightings
        self._behaviour = behaviour
        self._nodes = nodes

    async def gather(
        self, key: Key, now: datetime, *, live_pods: bool = False
    ) -> Observation | None:
        """None when there is no such AppWrapper, or another controller manages it.

        With `live_pods` no cache is asked for its pods.
        """
        raw = self._appwrappers.get(*key)
        if raw is None:
            return None
        appwrapper = AppWrapper(raw)
        if not appwrapper.is_ours:
            return None
        if is_lost(appwrapper) and was_deployed(appwrapper):
            appwrapper = with_attempt(appwrapper, self._creations.latest(appwrapper.uid))
        appwrapper = with_sound_record(appwrapper)
        config = effective_fault_tolerance(appwrapper, self._behaviour)
        _tell_unless_known_phase(appwrapper)
        snapshot = own_words(appwrapper, now)
        if snapshot.phase in (Phase.EMPTY, Phase.SUSPENDED) and not snapshot.deletion_requested:
            snapshot = await unless_kueue_is_missing(snapshot, self._unserved)
            return Observation(appwrapper, snapshot, config)
        pods = [pod for _, pod in self._pods.indexed(PODS_BY_APPWRAPPER, key)]
        if is_lost(appwrapper):
            appwrapper = await self._with_attempt_found(appwrapper, pods)
            config = effective_fault_tolerance(appwrapper, self._behaviour)
            snapshot = own_words(appwrapper, now)
        proving = wants_proof(snapshot, now, config)
        located = await self._locator.locate(appwrapper, proof_follows=proving)
        located = await self._unserved.settle(appwrapper, located)
        snapshot = replace(
            snapshot,
            create_problem=self._creations.problem(appwrapper.uid, appwrapper.attempt),
        )
        scene = Scene(appwrapper, snapshot, config, now, self._nodes)
        if proving:
            return await self._proof.look(scene, located, pods)
        if snapshot.create_problem or any(_is_in_trouble(each.component) for each in located):
            ending = await self._namespace_is_ending(appwrapper.namespace)
            scene = replace(scene, snapshot=replace(snapshot, namespace_ending=ending))
        observation = observe(scene, located, pods)
        if live_pods or _pods_are_in_doubt(observation, now):
            observation = observe(scene, located, await list_live_pods(self._client, key))
        return self._sightings.look(observation)

    async def _with_attempt_found(self, appwrapper: AppWrapper, pods: list[Pod]) -> AppWrapper:
        """With the number that what was deployed carries; a wrong one would be recorded."""
        located = await self._locator.locate(appwrapper, fresh=True)
        number = told_by(appwrapper, [each.facts for each in located if each.facts], pods)
        return with_sound_record(with_attempt(appwrapper, number))

    async def _namespace_is_ending(self, namespace: str) -> bool:
        """Then everything in it is being deleted: components may be missing, or fail for it."""
        item = await self._client.get(NAMESPACES, None, namespace, metadata_only=True)
        return "deletionTimestamp" in item["metadata"]


def _tell_unless_known_phase(appwrapper: AppWrapper) -> None:
    if known_phase(appwrapper) is None:
        logger.warning(
            "unknown phase %.100r: removing all and beginning anew",
            appwrapper.status["phase"],
            extra=object_fields(appwrapper.namespace, appwrapper.name, appwrapper.uid),
        )


def _is_in_trouble(component: Component) -> bool:
    return component.presence is Presence.GONE or component.terminal is Terminal.FAILED


def _pods_are_in_doubt(observation: Observation, now: datetime) -> bool:
    """What a component says of its end is about to be acted on, and the pod watch may lag behind.

    On success the quota goes back, so pods that have not all been seen to end must be known: they
    were cleaned up, or outlive their component, or ended just now. On failure a listed exit code
    decides whether there is another attempt, and the pod that has it may not be known yet. What
    waits for pods to end may wait for the watch, which wakes it with each of hundreds.
    """
    snapshot, config = observation.snapshot, observation.config
    if snapshot.phase is not Phase.RUNNING:
        return False
    counting = [each for each in snapshot.components if not each.helper]
    if any(each.terminal is Terminal.FAILED for each in counting):
        return bool(config.terminal_exit_codes or config.retryable_exit_codes)
    if not has_ended_well(snapshot) or not any(each.terminal for each in counting):
        return False
    if awaits_stragglers(snapshot, now, config):
        return False
    expected = sum(each.expected_pods for each in counting)
    return len(observation.pods) < expected or snapshot.pods.under_way > 0
