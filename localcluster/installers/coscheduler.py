"""Coscheduler: a second scheduler that starts the pods of a PodGroup together, and packs GPUs.

Its ServiceAccount has the built-in roles of a scheduler and the module's role for PodGroups.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from localcluster.apply import read_documents
from localcluster.controlplane import HOST
from localcluster.installers import manifests
from localcluster.probes import http_ok, unverified
from localcluster.processes import ProcessSpec
from shared.api.json import JsonObject

if TYPE_CHECKING:
    from localcluster.cluster import LocalCluster

SCHEDULER = "scheduler-plugins-scheduler"
"""What pods write into spec.schedulerName."""
NAMESPACE, ACCOUNT = "scheduler-plugins", "scheduler-plugins-scheduler"
_RBAC_API = "rbac.authorization.k8s.io"
_PLUGINS_ROLE = "system:kube-scheduler:plugins"
_CLUSTER_ROLES = ("system:kube-scheduler", "system:volume-scheduler", _PLUGINS_ROLE)
_AUTHENTICATION_READER = "extension-apiserver-authentication-reader"


async def install(cluster: LocalCluster) -> None:
    """Starts the scheduler; returns when it is healthy."""
    module = cluster.modules["coscheduler"]
    await cluster.apply(
        [manifests.namespace_document(NAMESPACE), *definitions(module), *_roles(module)]
    )
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


def definitions(module: Path) -> list[JsonObject]:
    """The CRDs of PodGroups and ElasticQuotas; the scheduler watches both."""
    return read_documents(module / "config" / "crd" / "bases")


def configuration(kubeconfig: Path) -> JsonObject:
    """The scheduler's configuration: gangs, and the fullest node first where GPUs are asked for."""
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
                # Coscheduling brings its own order of the queue, and there can be only one.
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
    plugins = [
        each
        for each in shipped
        if each["kind"] == "ClusterRole" and each["metadata"]["name"] == _PLUGINS_ROLE
    ]
    cluster_wide = [
        _binding("ClusterRoleBinding", {"name": f"{ACCOUNT}:{role}"}, "ClusterRole", role)
        for role in _CLUSTER_ROLES
    ]
    where = {"name": f"{ACCOUNT}:{_AUTHENTICATION_READER}", "namespace": "kube-system"}
    return [*plugins, *cluster_wide, _binding("RoleBinding", where, "Role", _AUTHENTICATION_READER)]


def _binding(kind: str, metadata: JsonObject, role_kind: str, role: str) -> JsonObject:
    return {
        "apiVersion": f"{_RBAC_API}/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": _RBAC_API, "kind": role_kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}],
    }
