"""Installs KubeRay for RayClusters and RayJobs, with its own ServiceAccount and module's roles."""

from pathlib import Path

from localcluster.access.apply import read_documents
from localcluster.access.probes import http_ok
from localcluster.access.running import OwnedCluster
from localcluster.installers import manifests
from localcluster.machine.ports import HOST
from localcluster.machine.processes import ProcessSpec
from shared.api.objects import JsonObject, Resource

NAMESPACE, ACCOUNT = "ray-system", "kuberay-operator"
RESOURCES = (
    Resource("ray.io", "v1", "rayclusters", "RayCluster"),
    Resource("ray.io", "v1", "rayjobs", "RayJob"),
)


async def install(cluster: OwnedCluster) -> None:
    """Starts KubeRay, without webhooks as in its default installation; waits for health."""
    module = cluster.modules["kuberay"]
    await cluster.apply([manifests.namespace_document(NAMESPACE), *definitions(module)])
    await cluster.apply(manifests.rbac(module / "config" / "rbac", namespace=NAMESPACE))
    account = await cluster.service_account_kubeconfig(NAMESPACE, ACCOUNT)
    health = f"{HOST}:{cluster.ports.reserve()}"
    command = (
        str(cluster.programs["kuberay"]),
        "--metrics-addr=0",
        f"--health-probe-bind-address={health}",
        "--enable-leader-election=false",
        "--qps=1000",
        "--burst=2000",
    )
    await cluster.processes.start(
        ProcessSpec(
            "kuberay",
            command,
            http_ok(f"http://{health}/readyz"),
            address=f"http://{health}",
            environment={"KUBECONFIG": str(account)},
        )
    )


def definitions(module: Path) -> list[JsonObject]:
    """Returns the CRDs of RayClusters, RayJobs and RayServices; the operator watches all three."""
    return read_documents(module / "config" / "crd" / "bases")
