"""Finds out what is in the way of a deletion that takes long, by live reads."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from controller.deletions import Deletions
from controller.facts.blockers import (
    LeftComponent,
    LeftPod,
    blockers,
    finalizers_of,
    forced_off,
)
from controller.facts.component_facts import Located
from controller.facts.observation import Deployed
from controller.facts.scene import Scene
from controller.gather.dependants import DependantSearch
from controller.gather.silent_nodes import silent_nodes
from controller.gather.unserved_kinds import UnservedKinds, recorded_kind
from controller.phases.snapshot import Presence
from shared.kube.client import KubeClient
from shared.kube.errors import NotFound

# Components of one AppWrapper that are looked into at a time, and AppWrappers at once: a garbage
# collector that stands still holds up everything that is being deleted.
MOST_COMPONENTS: Final = 5
SEARCHES_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True)
class Findings:
    """What the decision needs to know of a deletion that does not come to its end."""

    blockers: tuple[str, ...] = ()
    forced_off: tuple[str, ...] = ()
    empty: tuple[Deployed, ...] = ()
    silent_nodes: frozenset[str] = frozenset()


class BlockerSearch:
    """One for all AppWrappers."""

    def __init__(self, client: KubeClient, unserved: UnservedKinds, deletions: Deletions) -> None:
        self._client = client
        self._unserved = unserved
        self._deletions = deletions
        self._dependants = DependantSearch(client, unserved)
        self._slots = asyncio.Semaphore(SEARCHES_AT_ONCE)

    async def look(
        self,
        scene: Scene,
        located: Sequence[Located],
        left: Sequence[Deployed],
        pods: Sequence[LeftPod],
        *,
        forcing: bool,
    ) -> Findings:
        """`left` and `pods` are what live reads just found. Raises KubeError."""
        async with self._slots:
            nodes = await self._silent_nodes(pods, forcing=forcing)
            components: list[LeftComponent] = await self._unseen(scene, located)
            empty: list[Deployed] = []
            for each in left[:MOST_COMPONENTS]:
                found = await self._component(scene, each, pods_left=bool(pods))
                if found is None:
                    continue
                components.append(found)
                # With pods about, forcing these comes first.
                if found.deleting and not (pods or found.waits_for or found.unproved):
                    empty.append(each)
        return Findings(
            blockers(components, pods, nodes, _made(scene)),
            forced_off(pods, nodes) if forcing else (),
            tuple(empty) if forcing else (),
            frozenset(nodes),
        )

    async def _silent_nodes(self, pods: Sequence[LeftPod], *, forcing: bool) -> Mapping[str, str]:
        return await silent_nodes(self._client, (pod.node for pod in pods if forcing or pod.due))

    async def _unseen(self, scene: Scene, located: Sequence[Located]) -> list[LeftComponent]:
        """Components of Kinds that are not served, and that may be there all the same."""
        return [
            LeftComponent(
                name=each.component.name,
                kind=each.component.kind,
                obstacle=await self._unserved.obstacle(recorded_kind(scene.appwrapper, index)),
            )
            for index, each in enumerate(located)
            if each.component.presence is Presence.UNKNOWN
        ][:MOST_COMPONENTS]

    async def _component(
        self, scene: Scene, left: Deployed, *, pods_left: bool
    ) -> LeftComponent | None:
        """None: it went meanwhile."""
        namespace = scene.appwrapper.namespace
        try:
            item = await self._client.get(left.resource, namespace, left.name, metadata_only=True)
        except NotFound:
            return None
        metadata = item["metadata"]
        if metadata["uid"] != left.uid:
            return None
        deleting = "deletionTimestamp" in metadata
        waits_for: tuple[str, ...] = ()
        unproved: tuple[str, ...] = ()
        if deleting and not pods_left:
            owned = await self._dependants.of(left.resource, namespace, left.uid)
            waits_for, unproved = owned.names, owned.unproved
        return LeftComponent(
            name=left.name,
            kind=left.resource.kind,
            deleting=deleting,
            finalizers=finalizers_of(metadata),
            waits_for=waits_for,
            unproved=unproved,
            pods_left=pods_left,
            refused=self._deletions.refusal(scene.appwrapper.uid, left.uid),
        )


def _made(scene: Scene) -> int:
    """As many pods as the pod sets say."""
    return sum(
        1 if (replicas := pod_set.get("replicas")) is None else replicas
        for recorded in scene.appwrapper.component_statuses
        for pod_set in recorded.get("podSets") or ()
    )
