"""Configures and starts the kubelet, and probes whether the node is ready."""

from pathlib import Path

import yaml

from localcluster.access import kubeconfig
from localcluster.access.probes import both, http_ok, node_is_ready
from localcluster.access.running import OwnedCluster
from localcluster.machine.processes import ProcessSpec
from localcluster.machine.tools import system_path
from localcluster.machine.waiting import Probe
from localcluster.realnode.containerd import SOCKET
from localcluster.realnode.init import NODE_NAME
from localcluster.realnode.namespaces import NodeNamespaces
from shared.api.objects import NODES, JsonObject
from shared.kube.client import KubeClient, KubeError, NotFound

REAL_LABEL = "appwrapper.localcluster.dev/real"
_HEALTH_PORT = 10248
# No server listens there in a pod, so names fail at once; with no entry, pods get the machine's.
_NO_NAME_SERVER = "127.0.0.1"
# A tmpfs of the node's own. Below the cluster's folder its sockets' paths could exceed the kernel's
# limit of 107 bytes.
_STATE = Path("/var/lib/kubelet")


def spec(
    cluster: OwnedCluster, folder: Path, namespaces: NodeNamespaces, address: str, cgroup: str
) -> ProcessSpec:
    """Writes its files into `folder`; returns the process to start, ready when the node is.

    `address` is the node's.
    """
    state = folder / "kubelet"
    state.mkdir()
    (state / "resolv.conf").write_text(f"nameserver {_NO_NAME_SERVER}\n")
    authority = cluster.authority
    serving = authority.serving("kubelet-serving", (address, NODE_NAME))
    certificates = {
        "tlsCertFile": str(serving.certificate),
        "tlsPrivateKeyFile": str(serving.key),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority.certificate)},
        },
    }
    settings = folder / "kubelet.yaml"
    settings.write_text(yaml.safe_dump(certificates | configuration(address, state, cgroup)))
    identity = authority.client("kubelet", f"system:node:{NODE_NAME}", ("system:nodes",))
    access = kubeconfig.write(
        folder / "kubelet.kubeconfig",
        server=cluster.access.server,
        authority=authority.certificate,
        user=kubeconfig.with_certificate(identity),
    )
    command = (
        str(cluster.programs["kubelet"]),
        f"--config={settings}",
        f"--kubeconfig={access}",
        f"--hostname-override={NODE_NAME}",
        f"--node-ip={address}",
        f"--node-labels={REAL_LABEL}=true",
        f"--root-dir={_STATE}",
        f"--cert-dir={_STATE / 'pki'}",
    )
    health = f"http://{address}:{_HEALTH_PORT}/healthz"
    return ProcessSpec(
        "kubelet",
        namespaces.command(*command),
        both(http_ok(health), node_ready(cluster.client)),
        address=f"https://{address}:10250",
        # A killed kubelet leaves its temporary folders: they are removed with the node.
        environment=system_path() | {"TMPDIR": str(_STATE)},
        folder=namespaces.folder,
    )


def configuration(address: str, state: Path, cgroup: str) -> JsonObject:
    """Returns the kubelet's configuration without certificates."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": address,
        "healthzBindAddress": address,
        "healthzPort": _HEALTH_PORT,
        "readOnlyPort": 0,
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cgroup}",
        "failCgroupV1": False,
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        # mounts.py presents the expected values; the kubelet would set them for the whole machine.
        "protectKernelDefaults": True,
        "makeIPTablesUtilChains": True,
        "localStorageCapacityIsolation": False,
        # A full disk is the user's concern: no pod is evicted, and no image is deleted.
        "evictionHard": {
            "memory.available": "0%",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "0%",
            "imagefs.inodesFree": "0%",
        },
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "maxPods": 110,
        "serializeImagePulls": False,
        "registryPullQPS": 0,
        "eventRecordQPS": 0,
        "kubeAPIQPS": 100,
        "kubeAPIBurst": 200,
        "oomScoreAdj": 0,
        "maxOpenFiles": 4096,
        "rotateCertificates": False,
        "serverTLSBootstrap": False,
        "registerNode": True,
        "clusterDNS": [_NO_NAME_SERVER],
        "clusterDomain": "cluster.local",
        "resolvConf": str(state / "resolv.conf"),
        "podLogsDir": "/var/log/pods",
        "volumePluginDir": str(state / "volume-plugins"),
        "nodeStatusUpdateFrequency": "5s",
        "shutdownGracePeriod": "0s",
    }


def node_ready(client: KubeClient) -> Probe:
    """Returns a probe: the node is registered and Ready."""

    async def ask() -> str | None:
        try:
            node = await client.get(NODES, None, NODE_NAME)
        except NotFound:
            return (
                f"node {NODE_NAME} has not made itself known; a firewall of this machine may keep"
                " 198.18.0.0/16 from it"
            )
        except KubeError as failure:
            return f"node {NODE_NAME} cannot be read: {failure}"
        if node_is_ready(node):
            return None
        conditions = node["status"].get("conditions", ())
        words = [each["message"] for each in conditions if each["type"] == "Ready"]
        return f"node {NODE_NAME} is not Ready: {' '.join(words) or 'it says nothing yet'}"

    return ask
