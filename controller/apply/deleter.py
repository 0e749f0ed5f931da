"""Asks for the deletion of what an AppWrapper deployed. Always by UID, never by name alone."""

from collections.abc import Iterable

from controller.observation import Deployed, Observation
from controller.phases.actions import DeletionMode
from shared.kube.client import KubeClient, Propagation
from shared.kube.errors import Conflict, NotFound


class Deleter:
    """Foreground, so that a component disappears only after all it owns (specification 4)."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def delete(self, observation: Observation, mode: DeletionMode) -> None:
        """Raises KubeError; what was asked for before stays asked for."""
        namespace = observation.appwrapper.namespace
        match mode:
            case DeletionMode.GRACEFUL:
                await self._all(namespace, _undeleted(observation.deployed), None)
                if observation.snapshot.stray_pods:
                    await self._all(namespace, _undeleted(observation.pods), None)
            case DeletionMode.FORCE_PODS:
                await self._all(namespace, observation.pods, 0)
            case DeletionMode.FORCE_COMPONENTS:
                await self._all(namespace, observation.deployed, 0)

    async def _all(self, namespace: str, targets: Iterable[Deployed], grace: int | None) -> None:
        for target in targets:
            try:
                await self._client.delete(
                    target.resource,
                    namespace,
                    target.name,
                    uid=target.uid,
                    propagation=Propagation.FOREGROUND,
                    grace_period_seconds=grace,
                )
            except (NotFound, Conflict):
                continue  # it is gone, or another object has its name


def _undeleted(targets: Iterable[Deployed]) -> list[Deployed]:
    return [target for target in targets if not target.deleting]
