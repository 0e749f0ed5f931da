"""Collects pods' states, events and logs: for the message of a failure, and beside the kept
logs.
"""

import asyncio

import yaml

from localcluster.access.running import RunningCluster
from localcluster.machine.child import captured
from localcluster.machine.slowness import stretched
from localcluster.realnode.init import NODE_NAME
from shared.api.objects import EVENTS, PODS, JsonObject, Resource
from shared.kube.client import KubeError

_LINES = 20
_EVENTS = 10
_SECONDS = stretched(60.0)


async def last_words(cluster: RunningCluster, namespace: str) -> str:
    """Returns states, events and last log lines of a namespace's pods that are not ready.

    Returns the failure's text if the pods cannot be listed. A space or an empty line precedes the
    text, which follows a sentence.
    """
    try:
        pods = await _listed(cluster, PODS, namespace)
        events = await _listed(cluster, EVENTS, namespace)
    except KubeError as failure:
        return f" The pods cannot be listed: {failure}."
    if not pods:
        return f" There is no pod in {namespace}.{_of_events(events)}"
    parts = []
    for pod in pods:
        if not is_ready(pod):
            parts += [state_of(pod), await _logs(cluster, pod, f"--tail={_LINES}")]
    return "\n\n" + "\n".join(filter(None, [*parts, _of_events(events)]))


async def keep(cluster: RunningCluster) -> None:
    """Writes every pod, every event and the logs of real pods below the cluster's logs.

    The files are `pods/NAMESPACE.NAME.log` and `pods/objects.yaml`. Stops after a minute: the API
    server may be gone.
    """
    folder = cluster.logs / "pods"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        async with asyncio.timeout(_SECONDS):
            pods = await _listed(cluster, PODS, None)
            objects = [*pods, *await _listed(cluster, EVENTS, None)]
            (folder / "objects.yaml").write_text(yaml.safe_dump_all(objects))
            for pod in pods:
                if pod["spec"].get("nodeName") == NODE_NAME:
                    name = f"{pod['metadata']['namespace']}.{pod['metadata']['name']}.log"
                    (folder / name).write_text(await _logs(cluster, pod))
    except (KubeError, TimeoutError) as failure:
        (folder / "incomplete").write_text(f"Not everything could be kept: {failure!r}\n")


def is_ready(pod: JsonObject) -> bool:
    """True if the pod runs and passes its probes."""
    conditions = pod.get("status", {}).get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def state_of(pod: JsonObject) -> str:
    """Returns one line for the pod and one for each container that does not run."""
    status = pod.get("status", {})
    node = pod["spec"].get("nodeName") or "no node yet"
    lines = [f"Pod {pod['metadata']['name']}: {status.get('phase', 'Unknown')} ({node})"]
    lines += [
        f"  {each['type']}: {each['message']}"
        for each in status.get("conditions", ())
        if each["status"] != "True" and each.get("message")
    ]
    for each in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        for when, states in (("", each["state"]), ("before, ", each.get("lastState", {}))):
            for state, details in states.items():
                reported = [str(details[key]) for key in ("reason", "exitCode", "message") if
                        details.get(key) is not None]  # fmt: skip
                lines.append(f"  {each['name']}: {when}{state} {', '.join(reported)}".rstrip())
    return "\n".join(lines)


def _of_events(events: list[JsonObject]) -> str:
    """Returns the last warnings, oldest first."""
    warnings = [each for each in events if each.get("type") == "Warning"]
    warnings.sort(key=lambda each: each.get("lastTimestamp") or each.get("eventTime") or "")
    lines = [
        f"  {each['involvedObject']['kind']} {each['involvedObject'].get('name', '')}:"
        f" {each.get('reason', '')}: {each.get('message', '')}"
        for each in warnings[-_EVENTS:]
    ]
    return "\nThe last warnings:\n" + "\n".join(lines) if lines else ""


async def _listed(
    cluster: RunningCluster, resource: Resource, namespace: str | None
) -> list[JsonObject]:
    pages = cluster.client.pages(resource, namespace)
    return [each async for page in pages for each in page.items]


async def _logs(cluster: RunningCluster, pod: JsonObject, *options: str) -> str:
    """Returns the containers' output, that before their last restart first."""
    metadata, statuses = pod["metadata"], pod.get("status", {}).get("containerStatuses", ())
    command = (
        str(cluster.kubectl),
        f"--kubeconfig={cluster.kubeconfig}",
        "--request-timeout=10s",
        f"--namespace={metadata['namespace']}",
        "logs",
        metadata["name"],
        "--all-containers",
        *options,
    )
    restarted = any(each.get("restartCount", 0) for each in statuses)
    before = (await captured((*command, "--previous")))[1] if restarted else ""
    return before + (await captured(command))[1]
