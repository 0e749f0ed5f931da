"""Configures and starts containerd on the node, and loads images into it."""

import os
import socket
from ipaddress import IPv4Network
from pathlib import Path

import orjson

from localcluster.machine.processes import ProcessSpec
from localcluster.machine.tools import system_path
from localcluster.machine.waiting import Probe
from localcluster.realnode.namespaces import NodeNamespaces
from localcluster.realnode.sandbox_image import NAME as SANDBOX_IMAGE
from shared.api.objects import JsonObject

SOCKET = "/run/containerd/containerd.sock"
PLUGIN_FOLDERS = ("/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni")
PLUGINS = ("ptp", "host-local", "loopback")


class Containerd:
    """containerd with its files below `folder`."""

    def __init__(self, folder: Path, namespaces: NodeNamespaces, pods: IPv4Network) -> None:
        self._folder = folder
        self._namespaces = namespaces
        self._pods = pods
        self._registries = folder / "registries"

    def spec(self) -> ProcessSpec:
        """Writes the configuration; returns the process to start."""
        networks = self._folder / "networks"
        for each in (networks, self._registries):
            each.mkdir(parents=True)
        written = orjson.dumps(pod_network(self._pods), option=orjson.OPT_INDENT_2)
        (networks / "pods.conflist").write_bytes(written)
        settings = self._folder / "containerd.toml"
        settings.write_text(configuration(self._folder / "containerd", networks, self._registries))
        return ProcessSpec(
            "containerd",
            self._namespaces.command("containerd", "--config", str(settings)),
            self._answers(),
            address=f"unix://{SOCKET}",
            environment=system_path(),
            folder=self._namespaces.folder,
            tier=2,
        )

    async def load(self, archive: Path) -> None:
        """Loads the images of a docker-archive, a full path. Raises LocalClusterError."""
        await self._namespaces.run(
            *("ctr", "--address", SOCKET, "--namespace", "k8s.io"),
            *("images", "import", str(archive)),
        )

    def trust_registry(self, host_and_port: str) -> None:
        """Allows plain HTTP for that registry from now on."""
        folder = self._registries / host_and_port
        folder.mkdir(exist_ok=True)
        url = f"http://{host_and_port}"
        (folder / "hosts.toml").write_text(
            f'server = "{url}"\n\n[host."{url}"]\ncapabilities = ["pull", "resolve"]\n'
        )

    def _answers(self) -> Probe:
        path = str(self._namespaces.path(SOCKET))

        async def ask() -> str | None:
            try:
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                    connection.setblocking(False)
                    connection.connect(path)
            except OSError as failure:
                return f"nobody answers at {SOCKET}: {failure}"
            return None

        return ask


def configuration(root: Path, networks: Path, registries: Path) -> str:
    """Returns containerd's own configuration. Its state goes to the node's own /run."""
    cri = '[plugins."io.containerd.grpc.v1.cri"'
    return f"""\
version = 2
root = "{root}"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
  "io.containerd.tracing.processor.v1.otlp",
]

[grpc]
address = "{SOCKET}"

[plugins."io.containerd.internal.v1.opt"]
path = "{root / "opt"}"

{cri}]
sandbox_image = "{SANDBOX_IMAGE}"
# A machine may lack CAP_SYS_RESOURCE: then nobody can make a process less likely to be killed.
restrict_oom_score_adj = true
disable_tcp_service = true
disable_hugetlb_controller = true
tolerate_missing_hugetlb_controller = true

{cri}.containerd]
snapshotter = "overlayfs"
default_runtime_name = "runc"

{cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

{cri}.containerd.runtimes.runc.options]
SystemdCgroup = false

{cri}.cni]
bin_dir = "{plugin_folder()}"
conf_dir = "{networks}"

{cri}.registry]
config_path = "{registries}"
"""


def pod_network(pods: IPv4Network) -> JsonObject:
    """Returns a network with a pair of interfaces per pod and a route to it, no bridge.

    So the traffic between pods is routed, and iptables sees it. With a bridge that would depend on
    a kernel module and its setting.
    """
    plugin = {
        "type": "ptp",
        "mtu": 1500,
        "ipMasq": False,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": str(pods)}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    return {"cniVersion": "0.4.0", "name": "pods", "plugins": [plugin]}


def plugin_folder() -> str:
    """Returns the folder of network plugins; the first candidate if none has them."""
    for folder in PLUGIN_FOLDERS:
        if all(os.access(f"{folder}/{each}", os.X_OK) for each in PLUGINS):
            return folder
    return PLUGIN_FOLDERS[0]
