"""Installs LeaderWorkerSet, under its own ServiceAccount and its module's roles.

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

NAMESPACE, ACCOUNT = "lws-system", "lws-controller-manager"
_PREFIX = "lws-"
_SERVICE = "lws-webhook-service"
_SETS = Resource("leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet")
RESOURCES = (_SETS,)
# From config/webhook/*-patch.yaml of the module: its pod webhooks see its sets' pods only.
_POD_WEBHOOKS = frozenset({"mpod.kb.io", "vpod.kb.io"})
_POD_SELECTOR = {
    "matchExpressions": [{"key": "leaderworkerset.sigs.k8s.io/name", "operator": "Exists"}]
}


async def install(cluster: OwnedCluster) -> None:
    """Starts the operator; returns when its webhooks answer for LeaderWorkerSets."""
    config = cluster.modules["leaderworkerset"] / "config"
    server = HostWebhook(
        NAMESPACE, _SERVICE, cluster.ports.reserve(), cluster.authority.certificate.read_bytes()
    )
    names = (server.host, "localhost", HOST)
    pair = cluster.authority.serving("leaderworkerset/tls", names)
    await cluster.apply(
        [
            manifests.namespace_document(NAMESPACE),
            *definitions(cluster.modules["leaderworkerset"]),
        ]
    )
    await cluster.apply(
        [
            *manifests.rbac(config / "rbac", namespace=NAMESPACE, prefix=_PREFIX),
            server.service_document,
            *webhooks(config, server),
        ]
    )
    (default,) = read_documents(config / "manager" / "controller_manager_config.yaml")
    health = f"{HOST}:{cluster.ports.reserve()}"
    settings = cluster.directory / "leaderworkerset.yaml"
    settings.write_text(
        yaml.safe_dump(
            configuration(
                default, webhook_port=server.port, certificates=pair.key.parent, health=health
            )
        )
    )
    account = await cluster.service_account_kubeconfig(NAMESPACE, ACCOUNT)
    await cluster.processes.start(
        ProcessSpec(
            "leaderworkerset",
            (str(cluster.programs["leaderworkerset"]), f"--config={settings}"),
            both(http_ok(f"http://{health}/readyz"), admits(cluster.client, _SETS, _example())),
            address=f"http://{health}",
            environment={"KUBECONFIG": str(account)},
        )
    )


def definitions(module: Path) -> list[JsonObject]:
    """Returns the CRD of LeaderWorkerSets."""
    return read_documents(module / "config" / "crd" / "bases")


def webhooks(config: Path, server: HostWebhook) -> list[JsonObject]:
    """Returns the two webhook configurations; the pod webhooks see its sets' pods only."""
    configurations = []
    for each in read_documents(config / "webhook" / "manifests.yaml"):
        name = _PREFIX + each["metadata"]["name"]
        directed = manifests.directed_webhooks(each, name, server)
        for webhook in directed["webhooks"]:
            if webhook["name"] in _POD_WEBHOOKS:
                webhook["objectSelector"] = _POD_SELECTOR
        configurations.append(directed)
    return configurations


def configuration(
    default: JsonObject, *, webhook_port: int, certificates: Path, health: str
) -> JsonObject:
    """Returns the module's configuration, changed for a process outside a pod."""
    return default | {
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "health": {"healthProbeBindAddress": health},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": HOST, "port": webhook_port, "certDir": str(certificates)},
        "clientConnection": {"qps": 1000, "burst": 2000},
    }


def _example() -> JsonObject:
    pod = {"spec": {"containers": [{"name": "a", "image": "probe"}]}}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "probe", "namespace": NAMESPACE},
        "spec": {"leaderWorkerTemplate": {"workerTemplate": pod}},
    }
