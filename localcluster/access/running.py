"""What a running cluster offers: to everybody who may use it, and to what is installed into it.

Who only uses one asks for a RunningCluster, and may have attached to it. What starts programs in it
asks for an OwnedCluster, which only its owner has.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from localcluster.access.apply import Applier
from localcluster.access.certificates import Authority
from localcluster.access.identities import Identities
from localcluster.access.kubeconfig import Access
from localcluster.access.options import ClusterOptions
from localcluster.machine.ports import Ports
from localcluster.machine.processes import Processes
from localcluster.machine.progress import Reporter
from shared.api.objects import JsonObject
from shared.kube.client import KubeClient


class RunningCluster:
    """A cluster that serves. It has no programs: only its owner, a LocalCluster, can stop one."""

    options: ClusterOptions
    """The options it was started with."""
    directory: Path
    """The cluster's own folder; installers put their files below it."""
    kubeconfig: Path
    """The administrator's."""
    access: Access
    """The same in parts: the server's address, whom to trust, the administrator's certificate."""
    kubectl: Path
    client: KubeClient
    """The administrator's."""
    authority: Authority
    """Signs certificates for webhooks and people."""
    modules: Mapping[str, Path]
    """The folders of the components' Go modules by component, for their manifests."""
    _applier: Applier
    _identities: Identities

    @property
    def logs(self) -> Path:
        """The folder with NAME.log of every process. It goes with the cluster."""
        return self.directory / "logs"

    async def apply(self, documents: Sequence[JsonObject]) -> list[JsonObject]:
        """Server-side apply under the administrator's identity; the objects as stored.

        See `apply.Applier.apply` for the order and for what it waits for.
        """
        return await self._applier.apply(documents)

    async def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """A kubeconfig under this ServiceAccount, which is made where absent."""
        return await self._identities.service_account(namespace, name)


class OwnedCluster(RunningCluster):
    """A cluster with its programs, for whatever adds some: installers, the product, a real node.

    Some of it serves already while the rest starts. LocalCluster starts and ends it.
    """

    reporter: Reporter
    processes: Processes
    """The running programs by name, each with its log."""
    ports: Ports
    programs: dict[str, Path]
    """Built programs by name."""
