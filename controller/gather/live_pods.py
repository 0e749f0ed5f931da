"""An AppWrapper's pods as the API server knows them, for when a cache is no proof."""

from collections.abc import AsyncIterator

from controller.facts.pod import Pod, project_pod
from shared.api.json import JsonObject
from shared.api.labels import is_label_value
from shared.api.names import LABEL_APPWRAPPER
from shared.api.resource import PODS
from shared.kube.client import KubeClient
from shared.kube.errors import ApiError


async def live_pods(client: KubeClient, key: tuple[str, str]) -> list[Pod]:
    """Every pod that carries the label, of whatever attempt. Raises KubeError."""
    return [project_pod(item) async for item in live_pod_items(client, key)]


async def live_pod_items(client: KubeClient, key: tuple[str, str]) -> AsyncIterator[JsonObject]:
    """The same as the API server has them, page by page. Raises KubeError.

    An answer without a version is no list, whatever its status says: nothing is concluded from it.
    """
    namespace, name = key
    if not is_label_value(name):
        return  # no pod can carry that name, and the API server would refuse the question
    pages = client.list_pages(PODS, namespace, label_selector=f"{LABEL_APPWRAPPER}={name}")
    async for page in pages:
        if not page.resource_version:
            raise ApiError(200, "NotAList", "the answer to a list of pods is no list")
        for item in page.items:
            yield item
