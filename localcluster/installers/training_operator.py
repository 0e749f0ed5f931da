"""Installs the Kubeflow Training Operator for PyTorchJobs, with its own ServiceAccount and
roles.
"""

import contextlib
from pathlib import Path

from localcluster.access.apply import read_documents
from localcluster.access.probes import admits, both, http_ok
from localcluster.access.running import OwnedCluster
from localcluster.installers import coscheduler, manifests
from localcluster.installers.manifests import HostWebhook
from localcluster.installers.rotated_certificate import RotatedCertificate
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.ports import HOST
from localcluster.machine.processes import Probe, ProcessSpec
from shared.api.objects import JsonObject, Resource
from shared.process.clock import SystemClock

NAMESPACE, ACCOUNT = "kubeflow", "training-operator"
_SERVICE, _SECRET = "training-operator", "training-operator-webhook-cert"
_AUTHORITY = "training-operator-ca"
_WEBHOOKS = "validator.training-operator.kubeflow.org"
_PYTORCHJOB_WEBHOOK = "validator.pytorchjob.training-operator.kubeflow.org"
_PYTORCHJOBS = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")
RESOURCES = (_PYTORCHJOBS,)

# The operator reads its certificate below TMPDIR, but waits until this fixed path exists. Any file
# will do.
_MARKER = Path("/tmp/k8s-webhook-server/serving-certs/tls.crt")
_MARKER_TEXT = "A local cluster's Training Operator is starting. This file may be deleted.\n"


async def install(cluster: OwnedCluster) -> None:
    """Starts the operator; returns when its webhook answers for PyTorchJobs.

    With Coscheduler in the cluster, PyTorchJobs are gang-scheduled.
    """
    base = cluster.modules["training-operator"] / "manifests" / "base"
    certificate = RotatedCertificate.make(
        _AUTHORITY, f"{_SERVICE}.{NAMESPACE}.svc", SystemClock().now()
    )
    server = HostWebhook(NAMESPACE, _SERVICE, cluster.ports.reserve(), certificate.authority)
    gangs = "coscheduler" in cluster.options.components
    (hooks,) = read_documents(base / "webhook" / "manifests.yaml")
    await cluster.apply(
        [
            manifests.namespace_document(NAMESPACE),
            *definitions(cluster.modules["training-operator"]),
            *(coscheduler.definitions(cluster.modules["coscheduler"]) if gangs else ()),
        ]
    )
    await cluster.apply(
        [
            *manifests.rbac(base / "rbac", namespace=NAMESPACE),
            certificate.secret(NAMESPACE, _SECRET),
            server.service_document,
            manifests.directed_webhooks(hooks, _WEBHOOKS, server, [_PYTORCHJOB_WEBHOOK]),
        ]
    )
    temporary = cluster.directory / "training-operator"
    certificate.write_to(temporary / "k8s-webhook-server" / "serving-certs")
    process = await _process(cluster, temporary, server.port, gangs=gangs)
    try:
        await cluster.processes.start(process)
    finally:
        _remove_marker()


def definitions(module: Path) -> list[JsonObject]:
    """Returns the CRD of PyTorchJobs."""
    return read_documents(module / "manifests" / "base" / "crds" / "kubeflow.org_pytorchjobs.yaml")


async def _process(
    cluster: OwnedCluster, temporary: Path, webhook_port: int, *, gangs: bool
) -> ProcessSpec:
    health = f"{HOST}:{cluster.ports.reserve()}"
    account = await cluster.service_account_kubeconfig(NAMESPACE, ACCOUNT)
    gang_flag = (f"--gang-scheduler-name={coscheduler.SCHEDULER}",) if gangs else ()
    command = (
        str(cluster.programs["training-operator"]),
        "--enable-scheme=pytorchjob",
        "--metrics-bind-address=0",
        f"--health-probe-bind-address={health}",
        f"--webhook-server-port={webhook_port}",
        "--controller-threads=5",
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
        *gang_flag,
    )
    judged = admits(cluster.client, _PYTORCHJOBS, _example())
    return ProcessSpec(
        "training-operator",
        command,
        _with_marker(both(http_ok(f"http://{health}/readyz"), judged)),
        address=f"http://{health}",
        environment={
            "KUBECONFIG": str(account),
            "MY_POD_NAMESPACE": NAMESPACE,
            "TMPDIR": str(temporary),
        },
    )


def _example() -> JsonObject:
    container = {"name": "pytorch", "image": "probe"}
    master = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "probe", "namespace": NAMESPACE},
        "spec": {"pytorchReplicaSpecs": {"Master": master}},
    }


def _with_marker(probe: Probe) -> Probe:
    """Recreates the marker while the operator starts: another cluster may have removed it."""

    async def ask() -> str | None:
        _set_marker()
        return await probe()

    return ask


def _set_marker() -> None:
    if _MARKER.exists():
        return
    try:
        _MARKER.parent.mkdir(parents=True, exist_ok=True)
        _MARKER.write_text(_MARKER_TEXT)
    except OSError as failure:
        raise LocalClusterError(
            f"The Training Operator waits for a file {_MARKER}, which cannot be written:"
            f" {failure.strerror}. Make that folder writable, or leave the component out."
        ) from failure


def _remove_marker() -> None:
    with contextlib.suppress(OSError):
        if _MARKER.read_text() == _MARKER_TEXT:
            _MARKER.unlink()
            _MARKER.parent.rmdir()
            _MARKER.parent.parent.rmdir()
