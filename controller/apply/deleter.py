"""Asks for the deletion of what an AppWrapper deployed. Always by UID, never by name alone."""

from collections.abc import Iterable
from contextlib import suppress

from controller.observation import Deployed, Observation
from controller.phases.actions import DeletionMode
from shared.kube.client import KubeClient, Propagation
from shared.kube.errors import Conflict, NotFound


class Deleter:
    """Components go foreground: each disappears only after all it owns (specification 4).

    Labelled pods own nothing that counts, so they need not wait for the garbage collector.
    """

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        # What the API server has accepted, until a watch tells of it: AppWrapper UID -> UIDs.
        self._accepted: dict[str, set[str]] = {}

    def forget(self, uid: str) -> None:
        """The AppWrapper is gone."""
        self._accepted.pop(uid, None)

    async def delete(self, observation: Observation, mode: DeletionMode) -> None:
        """Raises KubeError; what was asked for before stays asked for."""
        namespace = observation.appwrapper.namespace
        match mode:
            case DeletionMode.GRACEFUL:
                await self._once(observation, observation.deployed, Propagation.FOREGROUND)
                if observation.snapshot.stray_pods:
                    await self._once(observation, observation.pods, Propagation.BACKGROUND)
            case DeletionMode.HELPERS:
                await self._once(observation, observation.helpers, Propagation.FOREGROUND)
            case DeletionMode.STRAGGLERS:
                await self._once(observation, observation.stragglers, Propagation.BACKGROUND)
            case DeletionMode.OUTLIVED:
                await self._once(observation, observation.outlived, Propagation.FOREGROUND)
            case DeletionMode.FORCE_PODS:
                await self._all(namespace, observation.pods, Propagation.BACKGROUND)
            case DeletionMode.FORCE_COMPONENTS:
                await self._all(namespace, observation.deployed, Propagation.FOREGROUND)

    async def _once(
        self, observation: Observation, targets: Iterable[Deployed], propagation: Propagation
    ) -> None:
        """With their own grace period. An accepted delete stays accepted: it is sent once."""
        appwrapper = observation.appwrapper
        accepted = self._accepted.setdefault(appwrapper.uid, set())
        for target in targets:
            if not target.deleting and target.uid not in accepted:
                await self._delete(appwrapper.namespace, target, propagation, None)
                accepted.add(target.uid)

    async def _all(
        self, namespace: str, targets: Iterable[Deployed], propagation: Propagation
    ) -> None:
        """Without any grace period, as often as asked for."""
        for target in targets:
            await self._delete(namespace, target, propagation, 0)

    async def _delete(
        self, namespace: str, target: Deployed, propagation: Propagation, grace: int | None
    ) -> None:
        # Not found, or conflict: it is gone, or another object has its name.
        with suppress(NotFound, Conflict):
            await self._client.delete(
                target.resource,
                namespace,
                target.name,
                uid=target.uid,
                propagation=propagation,
                grace_period_seconds=grace,
            )
