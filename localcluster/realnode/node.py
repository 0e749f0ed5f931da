"""The real node of one cluster: started, given images, restarted in parts, and ended at once."""

from pathlib import Path

from localcluster.access.running import OwnedCluster
from localcluster.machine.concurrency import together
from localcluster.machine.errors import LocalClusterError
from localcluster.realnode import cgroups, kubelet, kubeproxy, sandbox_image
from localcluster.realnode.containerd import Containerd
from localcluster.realnode.network import NodeNetwork


class RealNode:
    """Node `real-node`. Its processes are among the cluster's, each with its log.

    Its allocatable CPU and memory are the machine's: on a small machine pods request little.
    """

    def __init__(self, cluster: OwnedCluster, network: NodeNetwork) -> None:
        self._cluster = cluster
        self._network = network
        self._folder = cluster.directory / "node"
        self._cgroup: str | None = None
        self._containerd = Containerd(self._folder, network.namespaces, network.subnets.pods)

    async def start(self) -> None:
        """Returns when the node is Ready. Raises ProcessFailed or LocalClusterError."""
        cluster, inside = self._cluster, self._network.namespaces
        subnets = self._network.subnets
        self._folder.mkdir()
        self._cgroup = cgroups.name_of(subnets.slot)
        try:
            cgroups.create(self._cgroup)
        except OSError as failure:
            raise LocalClusterError(
                f"The real node's cgroups cannot be made: {failure}. In a container, it must be"
                " privileged and have the machine's cgroup namespace (`--cgroupns=host`)."
            ) from failure
        await inside.run_module("localcluster.realnode.mounts", str(cluster.directory))
        await cluster.processes.start(self._containerd.spec())
        archive = self._folder / "pause.tar"
        sandbox_image.write_archive(cluster.programs["pause"], archive)
        await self.load(archive)
        await together(
            cluster.processes.start(kubeproxy.spec(cluster, self._folder, inside, subnets)),
            cluster.processes.start(
                kubelet.spec(cluster, self._folder, inside, subnets.node_address, self._cgroup)
            ),
        )

    async def load(self, archive: Path) -> None:
        """Loads the images of a docker-archive, for every pod. Raises LocalClusterError."""
        await self._containerd.load(archive)

    def trust_registry(self, host_and_port: str) -> None:
        """Allows plain HTTP for that registry from now on."""
        self._containerd.trust_registry(host_and_port)

    async def restart_kubelet(self) -> None:
        """Restarts the kubelet while pods continue; returns when the node is Ready."""
        await self._cluster.processes.restart("kubelet")

    def close_now(self) -> None:
        """Ends every process of the node and removes its cgroups. A second call does nothing."""
        self._network.namespaces.kill_now()
        if self._cgroup is not None:
            cgroups.remove(self._cgroup)
            self._cgroup = None
