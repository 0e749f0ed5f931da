"""Our own pods in the cluster: which there are, their processes, metrics and logs."""

import json
import re

import httpx

from localcluster.cluster import LocalCluster
from shared.api.names import LEASE_NAME
from shared.api.objects import LEASES, PODS, JsonObject
from tests.e2e.node_processes import NodeProcess, processes_of
from tests.e2e.research_team import container_of
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import listed
from tests.support.patience import KUBECTL_PATIENCE, PATIENCE_SECONDS, comes_to

SYSTEM = "appwrapper-system"
COMPONENTS = ("webhook", "controller")
METRICS_PORT = 8443
_REQUESTS = re.compile(r"^controller_runtime_webhook_requests_total\{.*\} ([0-9.]+)$", re.MULTILINE)


async def pods_of(cluster: LocalCluster, component: str) -> list[JsonObject]:
    """The pods of one Deployment that are not on their way out, by name."""
    found = await listed(cluster.client, PODS, SYSTEM, f"control-plane=appwrapper-{component}")
    return sorted(
        (each for each in found if "deletionTimestamp" not in each["metadata"]),
        key=lambda each: str(each["metadata"]["name"]),
    )


async def all_pods(cluster: LocalCluster) -> list[JsonObject]:
    """Of both, the webhook's first."""
    return [pod for each in COMPONENTS for pod in await pods_of(cluster, each)]


def process_of(pod: JsonObject) -> NodeProcess:
    """The only process of the pod's container."""
    [process] = processes_of(container_of(pod))
    return process


async def holder_of(cluster: LocalCluster) -> str:
    """Who holds the controller's Lease, as `POD_RANDOM`; "" if it was released."""
    lease = await cluster.client.get(LEASES, SYSTEM, LEASE_NAME)
    return str(lease["spec"].get("holderIdentity") or "")


async def metrics_of(pod: JsonObject) -> str:
    """What a Prometheus of this cluster would scrape."""
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS) as http:
        answer = await http.get(f"http://{pod['status']['podIP']}:{METRICS_PORT}/metrics")
    assert answer.status_code == 200, answer.text
    return answer.text


async def log_of(admin: Kubectl, pod: JsonObject) -> list[JsonObject]:
    """Its lines, decoded; fails where one is no JSON."""
    text = await admin("logs", "-n", SYSTEM, pod["metadata"]["name"])
    return [json.loads(line) for line in text.splitlines()]


async def roll(admin: Kubectl, *components: str) -> None:
    """`kubectl rollout restart`; returns when kubectl says that it is over."""
    names = [f"deployment/appwrapper-{each}" for each in components]
    await admin("rollout", "restart", "-n", SYSTEM, *names)
    for name in names:
        await admin("rollout", "status", "-n", SYSTEM, name, KUBECTL_PATIENCE)


async def until_whole(cluster: LocalCluster) -> None:
    """Two webhooks and two controllers are ready, and nothing of older ones is left."""

    async def look() -> list[tuple[str, bool]]:
        pods = await listed(cluster.client, PODS, SYSTEM)
        return sorted(
            (each["metadata"]["labels"]["control-plane"], is_ready(each)) for each in pods
        )

    webhook, controller = ("appwrapper-webhook", True), ("appwrapper-controller", True)
    await comes_to(look, [controller, controller, webhook, webhook])


def is_ready(pod: JsonObject) -> bool:
    """True if the kubelet reports the pod as ready."""
    conditions = pod["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def identities(pods: list[JsonObject]) -> set[tuple[str, int]]:
    """UID and restarts of each: the same where nothing was started anew."""
    return {
        (each["metadata"]["uid"], each["status"]["containerStatuses"][0]["restartCount"])
        for each in pods
    }


async def complaints(cluster: LocalCluster, admin: Kubectl) -> list[str]:
    """What the logs of all our pods say of rights that were missing, and of bugs."""
    return [
        f"{pod['metadata']['name']}: {line}"
        for pod in await all_pods(cluster)
        for line in await log_of(admin, pod)
        if "exception" in line or (line["level"] != "info" and _is_about_rights(line["message"]))
    ]


def _is_about_rights(message: str) -> bool:
    """Not of 401: test_kubelet_restarts voids all tokens, for as long as a kubelet takes to start.

    Whoever asks something meanwhile is told that nobody knows who asks.
    """
    # In a namespace that is being deleted creating is forbidden to everybody.
    text = message.lower()
    if "because it is being terminated" in text:
        return False
    return re.search(r"forbidden|\b403\b", text) is not None
