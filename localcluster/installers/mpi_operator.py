"""Installs the Kubeflow MPI Operator for MPIJobs, with its own ServiceAccount and module's roles.

It has no webhook. Its CRD serves `kubeflow.org/v2beta1` alone. The Training Operator has a CRD of
the same name for `v1`, which a local cluster never gets.
"""

from pathlib import Path

from localcluster.access.apply import read_documents
from localcluster.access.probes import http_ok
from localcluster.access.running import OwnedCluster
from localcluster.installers import manifests
from localcluster.machine.ports import HOST
from localcluster.machine.processes import ProcessSpec
from shared.api.objects import JsonObject, Resource

NAMESPACE, ACCOUNT = "mpi-operator", "mpi-operator"
RESOURCES = (Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob"),)
_ROLES = ("service-account.yaml", "cluster-role.yaml", "cluster-role-binding.yaml")


async def install(cluster: OwnedCluster) -> None:
    """Starts the operator, for all namespaces and without gang scheduling; waits for health."""
    module = cluster.modules["mpi-operator"]
    base = module / "manifests" / "base"
    await cluster.apply([manifests.namespace_document(NAMESPACE), *definitions(module)])
    await cluster.apply(manifests.rbac(*(base / name for name in _ROLES), namespace=NAMESPACE))
    account = await cluster.service_account_kubeconfig(NAMESPACE, ACCOUNT)
    port = cluster.ports.reserve()
    command = (
        str(cluster.programs["mpi-operator"]),
        f"-lock-namespace={NAMESPACE}",
        f"-health-port={port}",
        "-threadiness=5",
        "-kube-api-qps=1000",
        "-kube-api-burst=2000",
        "-controller-queue-rate-limit=1000",
        "-controller-queue-burst=2000",
    )
    await cluster.processes.start(
        ProcessSpec(
            "mpi-operator",
            command,
            http_ok(f"http://{HOST}:{port}/healthz"),
            address=f"http://{HOST}:{port}",
            environment={"KUBECONFIG": str(account)},
        )
    )


def definitions(module: Path) -> list[JsonObject]:
    """Returns the CRD of MPIJobs."""
    return read_documents(module / "manifests" / "base" / "kubeflow.org_mpijobs.yaml")
