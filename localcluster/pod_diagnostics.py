"""Collects what kubectl reports of pods: for the message of a failure, and beside the kept logs."""

import asyncio

import yaml

from localcluster.access.running import RunningCluster
from localcluster.machine.child import captured
from localcluster.machine.slowness import stretched
from localcluster.realnode.init import NODE_NAME
from shared.api.objects import EVENTS, PODS, JsonObject
from shared.kube.client import KubeError

_SECONDS = stretched(60.0)
# The label of our pods. No pod of one selector hides the logs of the others.
_OUR_LOGS = ("logs", "--selector=control-plane", "--ignore-errors", "--prefix", "--tail=20")


async def last_words(cluster: RunningCluster, namespace: str) -> str:
    """Returns the description of a namespace's pods, its warnings and the last lines of our pods.

    An empty line precedes the text, which follows a sentence. Without an API server it is kubectl's
    error.
    """
    answers = []
    for arguments in (
        ("describe", "pods", "--show-events=false"),
        ("get", "events", "--field-selector=type=Warning", "--sort-by=.lastTimestamp"),
        (*_OUR_LOGS, "--all-containers", "--previous"),
        (*_OUR_LOGS, "--all-containers"),
    ):
        code, output = await _kubectl(cluster, namespace, *arguments)
        answers.append(output.rstrip())
        if code != 0:
            break  # the others would wait as long for the same answer
    return "\n\n" + "\n".join(filter(None, answers))


async def keep(cluster: RunningCluster) -> None:
    """Writes every pod, every event and the logs of real pods below the cluster's logs.

    The files are `pods/NAMESPACE.NAME.log` and `pods/objects.yaml`. Stops after a minute: the API
    server may be gone.
    """
    folder = cluster.logs / "pods"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        async with asyncio.timeout(_SECONDS):
            objects: list[JsonObject] = [
                each
                for resource in (PODS, EVENTS)
                async for page in cluster.client.pages(resource)
                for each in page.items
            ]
            (folder / "objects.yaml").write_text(yaml.safe_dump_all(objects))
            for each in objects:
                # A simulated node has no logs.
                if each.get("spec", {}).get("nodeName") == NODE_NAME:
                    namespace, name = each["metadata"]["namespace"], each["metadata"]["name"]
                    logs = await _logs(cluster, namespace, each)
                    (folder / f"{namespace}.{name}.log").write_text(logs)
    except (KubeError, TimeoutError) as failure:
        (folder / "incomplete").write_text(f"Not everything could be kept: {failure!r}\n")


async def _logs(cluster: RunningCluster, namespace: str, pod: JsonObject) -> str:
    """Returns the containers' output, that before their last restart first."""
    arguments = ("logs", pod["metadata"]["name"], "--all-containers")
    statuses = pod.get("status", {}).get("containerStatuses", ())
    restarted = any(each.get("restartCount", 0) for each in statuses)
    before = (await _kubectl(cluster, namespace, *arguments, "--previous"))[1] if restarted else ""
    return before + (await _kubectl(cluster, namespace, *arguments))[1]


async def _kubectl(cluster: RunningCluster, namespace: str, *arguments: str) -> tuple[int, str]:
    options = (
        f"--kubeconfig={cluster.kubeconfig}",
        "--request-timeout=10s",
        f"--namespace={namespace}",
    )
    return await captured((str(cluster.kubectl), *options, *arguments))
