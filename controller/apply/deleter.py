"""Asks for the deletion of what an AppWrapper deployed. Always by UID, never by name alone."""

from collections.abc import Iterable
from contextlib import suppress

from controller.observation import Deployed, Observation
from controller.phases.actions import DeletionMode
from shared.kube.client import KubeClient, Propagation
from shared.kube.errors import Conflict, NotFound


class Deleter:
    """Foreground, so that a component disappears only after all it owns (specification 4)."""

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
                await self._once(observation, observation.deployed)
                if observation.snapshot.stray_pods:
                    await self._once(observation, observation.pods)
            case DeletionMode.HELPERS:
                await self._once(observation, observation.helpers)
            case DeletionMode.STRAGGLERS:
                await self._once(observation, observation.stragglers)
            case DeletionMode.FORCE_PODS:
                await self._all(namespace, observation.pods, 0)
            case DeletionMode.FORCE_COMPONENTS:
                await self._all(namespace, observation.deployed, 0)

    async def _once(self, observation: Observation, targets: Iterable[Deployed]) -> None:
        """An accepted delete stays accepted, and a foreground one is not to be sent twice."""
        appwrapper = observation.appwrapper
        accepted = self._accepted.setdefault(appwrapper.uid, set())
        for target in targets:
            if not target.deleting and target.uid not in accepted:
                await self._delete(appwrapper.namespace, target, None)
                accepted.add(target.uid)

    async def _all(self, namespace: str, targets: Iterable[Deployed], grace: int) -> None:
        for target in targets:
            await self._delete(namespace, target, grace)

    async def _delete(self, namespace: str, target: Deployed, grace: int | None) -> None:
        # Not found, or conflict: it is gone, or another object has its name.
        with suppress(NotFound, Conflict):
            await self._client.delete(
                target.resource,
                namespace,
                target.name,
                uid=target.uid,
                propagation=Propagation.FOREGROUND,
                grace_period_seconds=grace,
            )
