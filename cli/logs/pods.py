"""Read the pods of one attempt. I/O only."""

from cli.logs.choosing import LogPod, log_pod
from cli.logs.ranks import pod_ranks
from shared.api.appwrapper import AppWrapper
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import PODS
from shared.kube.client import KubeClient


async def attempt_pods(
    client: KubeClient, appwrapper: AppWrapper, attempt: int, container: str = ""
) -> list[LogPod]:
    """Read the pods. `container`: the chosen one, "" for each pod's default."""
    ranks = pod_ranks(appwrapper)
    pages = client.pages(
        PODS, appwrapper.namespace, label_selector=f"{LABEL_APPWRAPPER}={appwrapper.name}"
    )
    found = [log_pod(each, ranks, container) async for page in pages for each in page.items]
    return [each for each in found if each.is_of(appwrapper, attempt)]
