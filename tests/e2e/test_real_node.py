"""Pods are real: how they end, what they are given, what they reach; and the kubelet restarts."""

import json
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from localcluster.machine.slowness import stretched
from shared.api.objects import PODS, JsonObject
from tests.e2e.containers import pod
from tests.e2e.node_processes import processes_of
from tests.e2e.research_team import container_of, ended
from tests.support.cluster.kubectl import Kubectl
from tests.support.patience import KUBECTL_PATIENCE, PATIENCE_SECONDS, comes_to

pytestmark = pytest.mark.long

NAMESPACE = "on-the-node"
SERVER = "cd /tmp && echo 'it is me' > index.html && exec python3 -m http.server 8080"
# A program's first request in a pod: to the address that every pod is told, with its own token.
ASK_FOR_VERSION = """
import json, os, ssl, urllib.request
folder = "/var/run/secrets/kubernetes.io/serviceaccount"
trusted = ssl.create_default_context(cafile=f"{folder}/ca.crt")
server = os.environ["KUBERNETES_SERVICE_HOST"] + ":" + os.environ["KUBERNETES_SERVICE_PORT"]
token = open(f"{folder}/token").read()
def answer(path):
    asked = urllib.request.Request(
        f"https://{server}{path}", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        return json.load(urllib.request.urlopen(asked, context=trusted))
    except urllib.error.HTTPError as refusal:
        return json.load(refusal)
print(json.dumps([answer("/version"), answer("/api/v1/nodes")]))
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session", autouse=True)
async def namespace(node_cluster: LocalCluster, admin: Kubectl) -> AsyncIterator[None]:
    await node_cluster.apply(
        [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}]
    )

    async def has_account() -> bool:
        found = await admin("get", "serviceaccounts", "-n", NAMESPACE, "-o", "name")
        return found == "serviceaccount/default\n"

    await comes_to(has_account, True)
    yield
    await admin("delete", "namespace", NAMESPACE, KUBECTL_PATIENCE)


async def stored(cluster: LocalCluster, name: str) -> JsonObject:
    return await cluster.client.get(PODS, NAMESPACE, name)


async def run(cluster: LocalCluster, body: JsonObject, phase: str) -> JsonObject:
    """Creates the pod; as it is stored once it is in that phase, and ready if it runs."""
    name = body["metadata"]["name"]

    async def look() -> tuple[str | None, bool]:
        status = (await stored(cluster, name))["status"]
        ready = [each["ready"] for each in status.get("containerStatuses", ())]
        return status.get("phase"), ready == [phase == "Running"]

    body["metadata"]["namespace"] = NAMESPACE
    await cluster.apply([body])
    await comes_to(look, (phase, True))
    return await stored(cluster, name)


async def server(cluster: LocalCluster, name: str) -> tuple[JsonObject, str]:
    """A pod that serves HTTP, and the address of its Service."""
    body = pod(name, SERVER)
    body["metadata"]["labels"] = {"app": name}
    body["spec"]["containers"][0]["readinessProbe"] = {
        "httpGet": {"port": 8080},
        "periodSeconds": 1,
    }
    [service] = await cluster.apply(
        [
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": name, "namespace": NAMESPACE},
                "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]},
            }
        ]
    )
    return await run(cluster, body, "Running"), service["spec"]["clusterIP"]


async def body_of(url: str) -> str:
    """What this machine gets there; or why it gets nothing."""
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_SECONDS) as http:
            return (await http.get(url)).text
    except httpx.HTTPError as failure:
        return repr(failure)


async def test_exit_code_and_termination_message_are_in_the_status(
    node_cluster: LocalCluster,
) -> None:
    body = pod("ends", "printf 'out of luck' > /dev/termination-log; exit 42")
    found = await run(node_cluster, body, "Failed")
    assert ended(found) == {"exitCode": 42, "reason": "Error", "message": "out of luck"}
    assert found["spec"]["nodeName"] == "real-node"


async def test_a_pods_token_is_known_and_has_no_rights_of_its_own(
    node_cluster: LocalCluster, admin: Kubectl
) -> None:
    await run(node_cluster, pod("asks", f"python3 -c '{ASK_FOR_VERSION}'"), "Succeeded")
    version, nodes = json.loads(await admin("logs", "-n", NAMESPACE, "asks"))
    assert (version["major"], version["minor"]) == ("1", "37")
    assert nodes["message"] == (
        'nodes is forbidden: User "system:serviceaccount:on-the-node:default" cannot list resource'
        ' "nodes" in API group "" at the cluster scope'
    )


async def test_a_service_is_reached_from_this_machine_from_other_pods_and_from_its_own_pod(
    node_cluster: LocalCluster, admin: Kubectl
) -> None:
    serving, address = await server(node_cluster, "serves")
    await run(node_cluster, pod("calls", "exec sleep 100000"), "Running")

    assert await body_of(f"http://{serving['status']['podIP']}:8080/") == "it is me\n"

    async def from_here() -> str:
        return await body_of(f"http://{address}/")

    await comes_to(from_here, "it is me\n")  # kube-proxy hears of the pod a moment later
    limit = f"timeout={stretched(20.0)}"
    call = f"import urllib.request as r; print(r.urlopen('http://{address}', {limit}).read())"
    for caller in ("calls", "serves"):
        output = await admin("exec", "-n", NAMESPACE, caller, "--", "python3", "-c", call)
        assert output == "b'it is me\\n'\n", caller


async def test_configuration_and_secrets_are_files_and_a_change_arrives(
    node_cluster: LocalCluster, admin: Kubectl
) -> None:
    def objects(value: str) -> list[JsonObject]:
        metadata = {"name": "settings", "namespace": NAMESPACE}
        return [
            {"apiVersion": "v1", "kind": kind, "metadata": metadata, field: {"key": value}}
            for kind, field in (("ConfigMap", "data"), ("Secret", "stringData"))
        ]

    await node_cluster.apply(objects("first"))
    body = pod("reads", "exec sleep 100000")
    body["spec"]["volumes"] = [
        {"name": "one", "configMap": {"name": "settings"}},
        {"name": "other", "secret": {"secretName": "settings"}},
    ]
    body["spec"]["containers"][0]["volumeMounts"] = [
        {"name": "one", "mountPath": "/one", "readOnly": True},
        {"name": "other", "mountPath": "/other", "readOnly": True},
    ]
    await run(node_cluster, body, "Running")

    async def files() -> str:
        return await admin(
            "exec", "-n", NAMESPACE, "reads", "--", "sh", "-c", "cat /one/key; echo; cat /other/key"
        )

    assert await files() == "first\nfirst"
    await node_cluster.apply(objects("second"))
    # The kubelet looks again within a minute; at once where the pod changes.
    await admin("annotate", "-n", NAMESPACE, "pod/reads", "look=again")
    await comes_to(files, "second\nsecond")


async def test_an_unknown_name_fails_at_once(node_cluster: LocalCluster, admin: Kubectl) -> None:
    """There is no name server. Programs in pods find the API server by its address."""
    await run(node_cluster, pod("names", "cat /etc/resolv.conf"), "Succeeded")
    lines = (await admin("logs", "-n", NAMESPACE, "names")).splitlines()
    assert [line for line in lines if line.startswith("nameserver")] == ["nameserver 127.0.0.1"]


async def test_running_containers_outlive_a_restart_of_the_kubelet(
    node_cluster: LocalCluster,
) -> None:
    assert node_cluster.node is not None
    before = await run(node_cluster, pod("stays", "exec sleep 100000"), "Running")
    processes, kubelet = processes_of(container_of(before)), node_cluster.processes["kubelet"].pid

    await node_cluster.node.restart_kubelet()
    # The kubelet of now is at work: it runs what comes.
    await run(node_cluster, pod("comes", "exit 0"), "Succeeded")

    after = await stored(node_cluster, "stays")
    assert node_cluster.processes["kubelet"].pid != kubelet
    assert after["status"]["containerStatuses"] == before["status"]["containerStatuses"]
    assert processes_of(container_of(after)) == processes
    assert len(processes) == 1


async def test_its_programs_are_among_the_clusters_processes_each_with_its_log(
    node_cluster: LocalCluster,
) -> None:
    for name in ("containerd", "kubelet", "kube-proxy"):
        process = node_cluster.processes[name]
        assert (process.state, process.log) == ("running", node_cluster.logs / f"{name}.log")
        assert process.log.stat().st_size > 0
