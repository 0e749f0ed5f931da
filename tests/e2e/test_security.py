"""What our processes may do on their node and in the cluster, looked at from outside."""

import errno
import json

import pytest

from localcluster.cluster import LocalCluster
from shared.api.objects import NAMESPACES, JsonObject
from tests.e2e.node_processes import NodeProcess
from tests.e2e.product_pods import (
    METRICS_PORT,
    SYSTEM,
    all_pods,
    complaints,
    metrics_of,
    pods_of,
    process_of,
    until_whole,
)
from tests.e2e.research_team import REAL_NODE
from tests.support.cluster.kubectl import Completed, Kubectl
from tests.support.cluster.life import listed
from tests.support.cluster.resources import ENDPOINT_SLICES
from tests.support.patience import comes_to

pytestmark = pytest.mark.long

NONE = "0000000000000000"
# What the kernel and the runtime give to every container; nothing of it outlives the pod.
OF_THE_KERNEL = ("/proc", "/sys", "/dev")
# The kubelet's own, and root's.
WRITABLE = {"/etc/hosts"}


async def processes(cluster: LocalCluster) -> list[tuple[str, NodeProcess]]:
    return [(pod["metadata"]["name"], process_of(pod)) for pod in await all_pods(cluster)]


async def test_no_process_of_the_product_has_a_privilege(node_cluster: LocalCluster) -> None:
    for name, process in await processes(node_cluster):
        status = process.status()
        wanted = {
            "Uid": "65532\t65532\t65532\t65532",
            "Gid": "65532\t65532\t65532\t65532",
            "Groups": "65532",
            "CapInh": NONE,
            "CapPrm": NONE,
            "CapEff": NONE,
            "CapBnd": NONE,
            "CapAmb": NONE,
            "NoNewPrivs": "1",
            "Seccomp": "2",
        }
        assert {key: status[key] for key in wanted} == wanted, name
        # It is the container's first process, so it hears SIGTERM itself.
        assert status["NSpid"].split()[-1] == "1", name


async def test_no_process_of_the_product_can_write_to_its_image(node_cluster: LocalCluster) -> None:
    for name, process in await processes(node_cluster):
        mounts = process.mounts()
        assert "ro" in mounts["/"], name
        with pytest.raises(OSError, match="Read-only") as refused:
            (process.root / "written").touch()
        assert refused.value.errno == errno.EROFS
        writable = {
            point
            for point, options in mounts.items()
            if "rw" in options and not point.startswith(OF_THE_KERNEL)
        }
        assert writable == WRITABLE, name


PRIVILEGED: JsonObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "intruder"},
    "spec": {
        "containers": [{"name": "main", "image": "none", "securityContext": {"privileged": True}}]
    },
}


async def test_the_namespace_takes_restricted_pods_only(
    node_cluster: LocalCluster, admin: Kubectl
) -> None:
    namespace = await node_cluster.client.get(NAMESPACES, None, SYSTEM)
    labels = namespace["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    refused = await admin.run(
        "create", "-n", SYSTEM, "--dry-run=server", "-f", "-", stdin=json.dumps(PRIVILEGED)
    )
    assert refused == Completed(
        1,
        "",
        'Error from server (Forbidden): error when creating "STDIN": pods "intruder" is forbidden:'
        ' violates PodSecurity "restricted:latest": privileged (container "main" must not set'
        " securityContext.privileged=true), allowPrivilegeEscalation != false (container"
        ' "main" must set securityContext.allowPrivilegeEscalation=false), unrestricted'
        ' capabilities (container "main" must set securityContext.capabilities.drop=["ALL"]),'
        ' runAsNonRoot != true (pod or container "main" must set'
        ' securityContext.runAsNonRoot=true), seccompProfile (pod or container "main" must set'
        ' securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")\n',
    )


async def test_our_pods_run_on_the_real_node_alone(node_cluster: LocalCluster) -> None:
    """Simulated ones would say that they run, too."""
    await until_whole(node_cluster)
    pods = await all_pods(node_cluster)
    assert [pod["spec"]["nodeName"] for pod in pods] == [REAL_NODE] * 4
    assert len({pod["metadata"]["uid"] for pod in pods}) == 4


async def test_neither_asked_for_what_it_may_not_have(
    node_cluster: LocalCluster, admin: Kubectl
) -> None:
    """Runs behind those tests that make both work."""
    assert await complaints(node_cluster, admin) == []


async def test_metrics_are_there_to_scrape(node_cluster: LocalCluster) -> None:
    """Of each pod that the Service for them leads to."""
    families = {
        "webhook": "controller_runtime_webhook_requests_total counter",
        "controller": "appwrapper_controller_ready gauge",  # also of the standby
    }
    for component, family in families.items():
        pods = await pods_of(node_cluster, component)
        service = f"kubernetes.io/service-name=appwrapper-{component}-metrics-service"

        async def led_to(service: str = service) -> set[tuple[str, int]]:
            slices = await listed(node_cluster.client, ENDPOINT_SLICES, SYSTEM, service)
            return {
                (address, port["port"])
                for each in slices
                for endpoint in each["endpoints"]
                for address in endpoint["addresses"]
                for port in each["ports"]
            }

        await comes_to(led_to, {(pod["status"]["podIP"], METRICS_PORT) for pod in pods})
        for pod in pods:
            assert f"# TYPE {family}\n" in await metrics_of(pod)
