"""Whether everything that an AppWrapper deployed is gone: by fresh reads, never by absence."""

from collections.abc import Sequence
from dataclasses import replace

from controller.gather.components import ComponentLocator, Located
from controller.gather.live_pods import live_pods
from controller.gather.observe import observe
from controller.gather.pod import Pod
from controller.gather.scene import Scene
from controller.observation import Observation
from controller.phases.snapshot import Presence
from shared.kube.client import KubeClient


class DeletionProof:
    """Looks for it where a phase deletes."""

    def __init__(self, client: KubeClient, locator: ComponentLocator) -> None:
        self._client = client
        self._locator = locator

    async def look(
        self, scene: Scene, located: Sequence[Located], pods: Sequence[Pod]
    ) -> Observation:
        """Proves that all is gone, once nothing is seen any more. Raises KubeError.

        Components first, then their pods: while a component is there it may make another pod.
        """
        seen = observe(scene, located, pods)
        if seen.deployed or seen.pods:
            return seen
        appwrapper = scene.appwrapper
        located = await self._locator.locate_live(appwrapper, located)
        pods = await live_pods(self._client, (appwrapper.namespace, appwrapper.name))
        found = observe(scene, located, pods)
        unknown = any(each.component.presence is Presence.UNKNOWN for each in located)
        if found.deployed or found.pods or unknown:
            return found
        return replace(found, snapshot=replace(found.snapshot, gone=True))
