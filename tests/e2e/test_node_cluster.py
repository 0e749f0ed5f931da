"""The shared cluster itself: what every other e2e test stands on."""

import pytest

from localcluster.cluster import LocalCluster
from localcluster.images import Image
from localcluster.installers.kwok import TAINT
from localcluster.machine.child import captured
from localcluster.product import NAMESPACE
from shared.api.objects import NODES, PODS, JsonObject
from shared.kube.client import Propagation
from tests.e2e.containers import pod
from tests.e2e.product_pods import until_whole
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import listed
from tests.support.cluster.resources import ENDPOINT_SLICES
from tests.support.patience import KUBECTL_PATIENCE, comes_to

pytestmark = pytest.mark.long


def kubectl(cluster: LocalCluster) -> Kubectl:
    return Kubectl(cluster.kubectl, cluster.kubeconfig)


async def test_one_node_is_real_and_the_others_are_tainted(node_cluster: LocalCluster) -> None:
    nodes = await listed(node_cluster.client, NODES, None)
    assert {each["metadata"]["name"]: each["spec"].get("taints", []) for each in nodes} == {
        "gpu-node-1": [TAINT],
        "gpu-node-2": [TAINT],
        "real-node": [],
    }
    runtimes = {each["status"]["nodeInfo"]["containerRuntimeVersion"] for each in nodes}
    assert {each.partition(":")[0] for each in runtimes} == {"containerd", "kwok-0.8.0"}


async def test_the_product_runs_there_from_our_images(node_cluster: LocalCluster) -> None:
    images = node_cluster.images
    assert images is not None
    await until_whole(node_cluster)
    pods = await listed(node_cluster.client, PODS, NAMESPACE)
    ran = [
        (each["spec"]["nodeName"], status["image"], status["ready"])
        for each in pods
        for status in each["status"]["containerStatuses"]
    ]
    assert sorted(ran) == [
        ("real-node", images.controller.name, True),
        ("real-node", images.controller.name, True),
        ("real-node", images.webhook.name, True),
        ("real-node", images.webhook.name, True),
    ]
    # Nothing of it runs beside the cluster.
    assert not {"webhook", "controller"} & node_cluster.processes.keys()


async def test_only_pods_reach_the_api_server_at_its_service_address(
    node_cluster: LocalCluster,
) -> None:
    (known,) = await listed(
        node_cluster.client, ENDPOINT_SLICES, "default", "kubernetes.io/service-name=kubernetes"
    )
    addresses = [address for each in known["endpoints"] for address in each["addresses"]]
    ports = [each["port"] for each in known["ports"]]
    assert [f"https://{addresses[0]}:{ports[0]}"] == [node_cluster.access.server]
    code, output = await captured(("ss", "-Hltn", f"sport = :{ports[0]}"))
    assert code == 0, output
    assert [line.split()[3] for line in output.splitlines()] == [f"{addresses[0]}:{ports[0]}"]


async def test_a_persons_kubectl_reaches_into_a_real_pod(
    node_cluster: LocalCluster, workload: Image
) -> None:
    made = pod("reached-into", "echo it says this; exec sleep 600", image=workload.name)
    call = kubectl(node_cluster)
    await node_cluster.apply([made])
    try:
        await call("wait", "--for=condition=Ready", KUBECTL_PATIENCE, "pod/reached-into")
        # It is ready before its shell has come so far.
        await comes_to(lambda: call("logs", "reached-into"), "it says this\n")
        name = ("exec", "reached-into", "--", "cat", "/proc/1/comm")
        await comes_to(lambda: call(*name), "sleep\n")
        stored = await node_cluster.client.get(PODS, "default", "reached-into")
        assert stored["spec"]["nodeName"] == "real-node"
    finally:
        await call("delete", "pod", "reached-into", KUBECTL_PATIENCE)


async def test_a_pod_that_tolerates_it_may_run_on_a_simulated_node(
    node_cluster: LocalCluster,
) -> None:
    toleration = {"key": TAINT["key"], "operator": "Exists"}
    container = {
        "name": "main",
        "image": "nobody.example/has-this:1",
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    made: JsonObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "simulated"},
        "spec": {"tolerations": [toleration], "containers": [container]},
    }
    client = node_cluster.client
    await node_cluster.apply([made])

    async def where_it_runs() -> tuple[str, str]:
        stored = await client.get(PODS, "default", "simulated")
        where = stored["spec"].get("nodeName", "").removesuffix("1").removesuffix("2")
        return where, stored["status"]["phase"]

    try:
        await comes_to(where_it_runs, ("gpu-node-", "Running"))
    finally:
        await client.delete(
            PODS, "default", "simulated", uid=None, propagation=Propagation.BACKGROUND
        )
