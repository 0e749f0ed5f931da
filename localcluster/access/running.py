"""The interface of a running cluster, for its users and for installers.

A user of a cluster takes a RunningCluster, perhaps an attached one. Code that starts programs in it
takes an OwnedCluster, which only its owner has.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from localcluster.access.apply import ManifestApplier
from localcluster.access.certificates import Authority
from localcluster.access.identities import service_account_kubeconfig
from localcluster.access.kubeconfig import ClusterAccess
from localcluster.access.options import ClusterOptions
from localcluster.machine.ports import Ports
from localcluster.machine.processes import Processes
from localcluster.machine.progress import Reporter
from shared.api.objects import JsonObject
from shared.kube.client import KubeClient


class RunningCluster:
    """A running cluster. It has no programs: only its owner, a LocalCluster, can stop one."""

    options: ClusterOptions
    """The options of its start."""
    directory: Path
    """The cluster's own folder; installers put their files below it."""
    kubeconfig: Path
    """The administrator's kubeconfig."""
    access: ClusterAccess
    """The server's address, its certificate authority, and the administrator's certificate."""
    kubectl: Path
    client: KubeClient
    """The administrator's client."""
    authority: Authority
    """Signs certificates for webhooks and users."""
    modules: Mapping[str, Path]
    """The folders of the components' Go modules, by component; they contain manifests."""
    _applier: ManifestApplier
    _kubeconfigs: Path
    """The folder of the ServiceAccounts' kubeconfigs."""

    @property
    def logs(self) -> Path:
        """The folder with NAME.log of every process. It is removed with the cluster."""
        return self.directory / "logs"

    async def apply(self, documents: Sequence[JsonObject]) -> list[JsonObject]:
        """Applies objects server-side as the administrator; returns them as stored.

        `apply.Applier.apply` defines the order and the waiting.
        """
        return await self._applier.apply(documents)

    async def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """Writes a kubeconfig of this ServiceAccount, and creates the account if absent."""
        return await service_account_kubeconfig(
            self._kubeconfigs, self.access, self.client, namespace, name
        )


class OwnedCluster(RunningCluster):
    """A cluster with its programs, for code that adds some: installers, the product, a real node.

    Parts of it serve before the rest has started. LocalCluster starts and ends it.
    """

    reporter: Reporter
    processes: Processes
    """The running programs by name, each with its log."""
    ports: Ports
    programs: dict[str, Path]
    """Built programs by name."""
