"""Installs JobSet, under its own ServiceAccount and its module's roles.

An option stops it from managing its certificate, so the cluster's authority signs one for it.
"""

from pathlib import Path

import yaml

from localcluster.access.apply import read_documents
from localcluster.access.probes import admits, both, http_ok
from localcluster.access.running import OwnedCluster
from localcluster.installers import manifests
from localcluster.installers.manifests import HostWebhook
from localcluster.machine.ports import HOST
from localcluster.machine.processes import ProcessSpec
from shared.api.objects import JsonObject, Resource

NAMESPACE, ACCOUNT = "jobset-system", "jobset-controller-manager"
_PREFIX = "jobset-"
_SERVICE = "jobset-webhook-service"
_JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
RESOURCES = (_JOBSETS,)
# From config/components/webhook/patches of the module: these concern pods of JobSets only.
_POD_WEBHOOKS = frozenset({"mpod.kb.io", "vpod.kb.io"})
_POD_SELECTOR = {
    "matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]
}


async def install(cluster: OwnedCluster) -> None:
    """Starts JobSet; returns when its webhooks answer for JobSets."""
    components = cluster.modules["jobset"] / "config" / "components"
    server = HostWebhook(
        NAMESPACE, _SERVICE, cluster.ports.reserve(), cluster.authority.certificate.read_bytes()
    )
    pair = cluster.authority.serving("jobset/tls", (server.host, "localhost", HOST))
    await cluster.apply(
        [manifests.namespace_document(NAMESPACE), *definitions(cluster.modules["jobset"])]
    )
    await cluster.apply(
        [
            *manifests.rbac(components / "rbac", namespace=NAMESPACE, prefix=_PREFIX),
            server.service_document,
            *webhooks(components, server),
        ]
    )
    await cluster.processes.start(await _process(cluster, pair.key.parent, server.port))


def definitions(module: Path) -> list[JsonObject]:
    """Returns the CRD of JobSets."""
    return read_documents(module / "config" / "components" / "crd" / "bases")


def webhooks(components: Path, server: HostWebhook) -> list[JsonObject]:
    """Returns the two webhook configurations; the pod webhooks see JobSets' pods only."""
    configurations = []
    for each in read_documents(components / "webhook" / "manifests.yaml"):
        name = _PREFIX + each["metadata"]["name"]
        directed = manifests.directed_webhooks(each, name, server)
        for webhook in directed["webhooks"]:
            if webhook["name"] in _POD_WEBHOOKS:
                webhook["objectSelector"] = _POD_SELECTOR
        configurations.append(directed)
    return configurations


async def _process(cluster: OwnedCluster, certificates: Path, webhook_port: int) -> ProcessSpec:
    health = f"{HOST}:{cluster.ports.reserve()}"
    settings = cluster.directory / "jobset.yaml"
    settings.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
                "kind": "Configuration",
                "leaderElection": {"leaderElect": False},
                "internalCertManagement": {"enable": False},
                "health": {"healthProbeBindAddress": health},
                "metrics": {"bindAddress": "0"},
                "webhook": {"host": HOST, "port": webhook_port, "certDir": str(certificates)},
                "clientConnection": {"qps": 1000, "burst": 2000},
            }
        )
    )
    account = await cluster.service_account_kubeconfig(NAMESPACE, ACCOUNT)
    judged = admits(cluster.client, _JOBSETS, _example())
    return ProcessSpec(
        "jobset",
        (str(cluster.programs["jobset"]), f"--config={settings}"),
        both(http_ok(f"http://{health}/readyz"), judged),
        address=f"http://{health}",
        environment={"KUBECONFIG": str(account)},
    )


def _example() -> JsonObject:
    pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "probe"}]}}
    job = {"name": "a", "template": {"spec": {"template": pod}}}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "probe", "namespace": NAMESPACE},
        "spec": {"replicatedJobs": [job]},
    }
