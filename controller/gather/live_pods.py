"""An AppWrapper's pods as the API server knows them, for when a cache is no proof."""

from controller.gather.pod import Pod, project_pod
from shared.api.labels import is_label_value
from shared.api.names import LABEL_APPWRAPPER
from shared.kube.client import KubeClient
from shared.kube.resource import PODS


async def live_pods(client: KubeClient, key: tuple[str, str]) -> list[Pod]:
    """Every pod that carries the label, of whatever attempt. Raises KubeError."""
    namespace, name = key
    if not is_label_value(name):
        return []  # no pod can carry that name, and the API server would refuse the question
    pages = client.list_pages(PODS, namespace, label_selector=f"{LABEL_APPWRAPPER}={name}")
    return [project_pod(item) async for page in pages for item in page.items]
