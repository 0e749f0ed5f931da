"""Installs KWOK: simulated nodes with GPUs, and simulated kubelets that play a pod's annotations.

The stages of nodes come from KWOK's module, the stages of pods from localcluster/stages
(docs/maintainers/simulated-pods.md). KWOK runs under its own ServiceAccount and its module's roles.
"""

from pathlib import Path

import yaml

from localcluster.access.apply import read_documents
from localcluster.access.probes import both, http_ok, node_is_ready
from localcluster.access.running import OwnedCluster
from localcluster.installers import manifests
from localcluster.machine.ports import HOST
from localcluster.machine.processes import ProcessSpec
from localcluster.machine.waiting import Probe
from shared.api.objects import NODES, JsonObject
from shared.kube.client import KubeClient, KubeError

# `kubectl label node NAME simulation.localcluster.dev/heartbeat=stopped` makes a node unreachable.
HEARTBEAT_LABEL = "simulation.localcluster.dev/heartbeat"
HEARTBEAT_STOPPED = "stopped"
_MANAGED = ("kwok.x-k8s.io/node", "fake")

_NAMESPACE, _ACCOUNT = "kube-system", "kwok-controller"
_STAGES = Path(__file__).resolve().parent.parent / "stages"
_NODE_STAGES = (
    "kustomize/stage/node/fast/node-initialize.yaml",
    "kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
)
_FEW_NODES = 100
# Keeps pods without a toleration off simulated nodes if there is a real node too.
TAINT: JsonObject = {"key": _MANAGED[0], "value": _MANAGED[1], "effect": "NoSchedule"}
PODS = "10.244.0.0/16"
"""The address range of simulated pods; no program listens there."""


async def install(cluster: OwnedCluster) -> None:
    """Starts KWOK and creates the nodes; returns when all are Ready."""
    module = cluster.modules["kwok"]
    await cluster.apply(
        [
            *manifests.rbac(module / "kustomize" / "rbac", namespace=_NAMESPACE),
            *read_documents(module / "kustomize" / "rbac" / "flow_schema.yaml"),
        ]
    )
    await cluster.apply(
        [
            node(number, cluster.options.gpus_per_node, tainted=cluster.options.real_node)
            for number in range(cluster.options.nodes)
        ]
    )
    await cluster.processes.start(await _process(cluster, module))


def node(number: int, gpus: int, *, tainted: bool = False) -> JsonObject:
    """Returns the node of this number, from 0. All have one size; eight of them are team1's quota.

    `tainted`: only pods that tolerate TAINT can be scheduled to it.
    """
    name = f"gpu-node-{number + 1}"
    resources = {
        "cpu": "80",
        "memory": "1100Gi",
        "nvidia.com/gpu": str(gpus),
        "nvidia.com/roce_gdr": "2",
        "pods": "250",
    }
    addresses = [
        {"type": "InternalIP", "address": f"10.200.{number // 256}.{number % 256}"},
        {"type": "Hostname", "address": name},
    ]
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    made: JsonObject = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {_MANAGED[0]: _MANAGED[1]}},
        "status": {"capacity": resources, "allocatable": resources, "addresses": addresses},
    }
    if tainted:
        made["spec"] = {"taints": [TAINT]}
    return made


def configuration(address: str, nodes: int) -> JsonObject:
    """Returns KWOK's own configuration. `address` serves its health."""
    return {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokConfiguration",
        "metadata": {"name": "kwok"},
        "options": {
            "manageNodesWithAnnotationSelector": "=".join(_MANAGED),
            # The API server selects, so that KWOK releases a node once its label changes.
            "manageNodesWithLabelSelector": f"{HEARTBEAT_LABEL}!={HEARTBEAT_STOPPED}",
            "cidr": PODS,
            "serverAddress": address,
            "nodeLeaseDurationSeconds": 20 if nodes <= _FEW_NODES else 40,
            "nodeLeaseParallelism": 4,
            "nodePlayStageParallelism": 4,
            "podPlayStageParallelism": 16,
            "podsOnNodeSyncParallelism": 4,
        },
    }


async def _process(cluster: OwnedCluster, module: Path) -> ProcessSpec:
    folder = cluster.directory / "kwok"
    folder.mkdir()
    address = f"{HOST}:{cluster.ports.reserve()}"
    settings = folder / "configuration.yaml"
    settings.write_text(yaml.safe_dump(configuration(address, cluster.options.nodes)))
    stages = [*(module / each for each in _NODE_STAGES), *sorted(_STAGES.glob("*.yaml"))]
    account = await cluster.service_account_kubeconfig(_NAMESPACE, _ACCOUNT)
    command = (
        str(cluster.programs["kwok"]),
        f"--kubeconfig={account}",
        *(f"--config={each}" for each in (settings, *stages)),
    )
    return ProcessSpec(
        "kwok",
        command,
        both(http_ok(f"http://{address}/healthz"), _nodes_ready(cluster.client)),
        address=f"http://{address}",
        # KWOK would read a user's own configuration there.
        environment={"KWOK_WORKDIR": str(folder)},
    )


def _nodes_ready(client: KubeClient) -> Probe:
    """Returns a probe: every simulated node is Ready and has lost its taint."""

    async def ask() -> str | None:
        try:
            async for page in client.pages(NODES):
                for each in page.items:
                    if _MANAGED[0] in each["metadata"].get("annotations", {}) and not node_is_ready(
                        each
                    ):
                        return f"node {each['metadata']['name']} is not Ready"
        except KubeError as failure:
            return f"the nodes cannot be listed: {failure}"
        return None

    return ask
