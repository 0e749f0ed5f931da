"""Installs Coscheduler: a second scheduler that starts a PodGroup's pods together and packs GPUs.

Its ServiceAccount has the built-in roles of a scheduler and the module's role for PodGroups. The
controller that writes the status of PodGroups runs beside it, as in MLBatch. The Training Operator
depends on that controller. After it creates a PodGroup it reads its cache; if the cache lags twice
within a second, it forgets the PyTorchJob until an object changes. The first status of the PodGroup
is that change.
"""

from pathlib import Path

import yaml

from localcluster.access.apply import read_documents
from localcluster.access.probes import http_ok, unverified
from localcluster.access.running import OwnedCluster
from localcluster.installers import manifests
from localcluster.machine.concurrency import together
from localcluster.machine.ports import HOST
from localcluster.machine.processes import ProcessSpec
from shared.api.objects import JsonObject

SCHEDULER = "scheduler-plugins-scheduler"
"""The value of pods' spec.schedulerName."""
NAMESPACE, ACCOUNT = "scheduler-plugins", "scheduler-plugins-scheduler"
CONTROLLER = "pod-group-controller"
"""The program beside the scheduler."""
CONTROLLER_ACCOUNT = "scheduler-plugins-controller"
_PLUGINS_ROLE = "system:kube-scheduler:plugins"
_CONTROLLER_ROLE = "scheduler-plugins-controller"
_CLUSTER_ROLES = {
    ACCOUNT: ("system:kube-scheduler", "system:volume-scheduler", _PLUGINS_ROLE),
    CONTROLLER_ACCOUNT: (_CONTROLLER_ROLE,),
}
_AUTHENTICATION_READER = "extension-apiserver-authentication-reader"


async def install(cluster: OwnedCluster) -> None:
    """Starts the scheduler and the controller of PodGroups; returns when both are healthy."""
    module = cluster.modules["coscheduler"]
    await cluster.apply(
        [manifests.namespace_document(NAMESPACE), *definitions(module), *_roles(module)]
    )
    await together(_start_scheduler(cluster), _start_controller(cluster))


async def _start_scheduler(cluster: OwnedCluster) -> None:
    account = await cluster.service_account_kubeconfig(NAMESPACE, ACCOUNT)
    folder = cluster.directory / "coscheduler"
    folder.mkdir()
    settings = folder / "configuration.yaml"
    settings.write_text(yaml.safe_dump(configuration(account)))
    port = cluster.ports.reserve()
    command = (
        str(cluster.programs["coscheduler"]),
        f"--config={settings}",
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        f"--cert-dir={folder}",
    )
    address = f"https://{HOST}:{port}"
    await cluster.processes.start(
        ProcessSpec(
            "coscheduler", command, http_ok(f"{address}/healthz", unverified()), address=address
        )
    )


async def _start_controller(cluster: OwnedCluster) -> None:
    account = await cluster.service_account_kubeconfig(NAMESPACE, CONTROLLER_ACCOUNT)
    health = f"{HOST}:{cluster.ports.reserve()}"
    # No rate: v0.34.1 reads --qps and --burst, but sends controller-runtime's 20 a second.
    command = (
        str(cluster.programs[CONTROLLER]),
        "--metricsAddr=0",
        f"--probeAddr={health}",
        "--workers=5",
    )
    await cluster.processes.start(
        ProcessSpec(
            CONTROLLER,
            command,
            http_ok(f"http://{health}/readyz"),
            address=f"http://{health}",
            environment={"KUBECONFIG": str(account)},
        )
    )


def definitions(module: Path) -> list[JsonObject]:
    """Returns the CRDs of PodGroups and ElasticQuotas; the scheduler watches both."""
    return read_documents(module / "config" / "crd" / "bases")


def configuration(kubeconfig: Path) -> JsonObject:
    """Returns the scheduler's configuration: gangs, and the fullest node first for GPU pods."""
    most_used_first = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
    strategy = {
        "type": "RequestedToCapacityRatio",
        "resources": [{"name": "nvidia.com/gpu", "weight": 1}],
        "requestedToCapacityRatio": {"shape": most_used_first},
    }
    profile = {
        "schedulerName": SCHEDULER,
        "plugins": {
            "multiPoint": {
                "enabled": [{"name": "Coscheduling"}],
                # Coscheduling has its own order of the queue, and there can be only one.
                "disabled": [{"name": "PrioritySort"}],
            },
        },
        "pluginConfig": [
            {"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}},
            {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}},
        ],
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 1000, "burst": 2000},
        "profiles": [profile],
    }


def _roles(module: Path) -> list[JsonObject]:
    shipped = read_documents(module / "manifests" / "install" / "all-in-one.yaml")
    roles = [
        each
        for each in shipped
        if each["kind"] == "ClusterRole"
        and each["metadata"]["name"] in (_PLUGINS_ROLE, _CONTROLLER_ROLE)
    ]
    cluster_wide = [
        manifests.binding(f"{account}:{role}", role, account, NAMESPACE)
        for account, names in _CLUSTER_ROLES.items()
        for role in names
    ]
    reader = manifests.binding(
        f"{ACCOUNT}:{_AUTHENTICATION_READER}",
        _AUTHENTICATION_READER,
        ACCOUNT,
        NAMESPACE,
        within="kube-system",
    )
    return [*roles, *cluster_wide, reader]
