"""What a running cluster offers to everybody who may use it: its owner, and whoever attaches."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from localcluster.access.apply import Applier
from localcluster.access.certificates import Authority
from localcluster.access.identities import Identities
from localcluster.access.kubeconfig import Access
from localcluster.access.options import ClusterOptions
from shared.api.json import JsonObject
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
