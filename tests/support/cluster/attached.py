"""Attaches to a cluster that another process runs, by its folder, and writes nothing into it.

The owner writes one file when the cluster is ready. It adds what the folder lacks: the paths of
kubectl and the modules, and the options.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import orjson

from localcluster.access.apply import ManifestApplier
from localcluster.access.certificates import Authority, KeyPairFiles
from localcluster.access.clients import connect_patiently
from localcluster.access.kubeconfig import ClusterAccess
from localcluster.access.options import decode_options, encode_options
from localcluster.access.running import RunningCluster
from localcluster.machine.errors import LocalClusterError
from localcluster.machine.files import replace_private
from localcluster.machine.folder import running_owner
from shared.kube.http_client import HttpKubeClient
from shared.process.clock import SystemClock

_FILE = "attach.json"


def write_attachment(cluster: RunningCluster) -> None:
    """Writes the file that `AttachedCluster` reads, once the cluster is ready."""
    content = {
        "options": encode_options(replace(cluster.options, directory=cluster.directory)),
        "server": cluster.access.server,
        "authority": [str(cluster.authority.certificate), str(cluster.authority.key)],
        "admin": [str(cluster.access.admin.certificate), str(cluster.access.admin.key)],
        "kubeconfig": str(cluster.kubeconfig),
        "kubectl": str(cluster.kubectl),
        "modules": {name: str(folder) for name, folder in cluster.modules.items()},
    }
    replace_private(cluster.directory / _FILE, orjson.dumps(content))


class AttachedCluster(RunningCluster):
    """`async with AttachedCluster(directory, scratch) as cluster:` connects to another's cluster.

    New certificates and kubeconfigs are written below `scratch`. The exit closes this process's
    connections and changes nothing for the owner.
    """

    def __init__(self, directory: Path, scratch: Path) -> None:
        self.directory = directory
        self._scratch = scratch

    async def __aenter__(self) -> Self:
        """Connects. Raises LocalClusterError if no ready cluster runs in the folder."""
        content = _read(self.directory)
        self.options = decode_options(content["options"])
        self.kubeconfig = Path(content["kubeconfig"])
        self.kubectl = Path(content["kubectl"])
        self.modules = {name: Path(folder) for name, folder in content["modules"].items()}
        self.authority = Authority(
            self._scratch / "certificates", SystemClock().now(), _pair(content["authority"])
        )
        self.access = ClusterAccess(
            content["server"],
            self.authority.certificate,
            _pair(content["admin"]),
            self.kubeconfig,
        )
        self._http: HttpKubeClient = await connect_patiently(self.kubeconfig)
        self.client = self._http
        self._applier = ManifestApplier(self.client)
        self._kubeconfigs = self._scratch / "kubeconfigs"
        return self

    async def __aexit__(self, *_: object) -> None:
        """Closes the connections."""
        await self._http.close()


def _read(directory: Path) -> dict[str, Any]:
    if running_owner(directory) is None:
        raise LocalClusterError(f"No cluster runs in {directory}.")
    try:
        content: dict[str, Any] = orjson.loads((directory / _FILE).read_bytes())
    except FileNotFoundError:
        raise LocalClusterError(
            f"The cluster in {directory} is still starting. Wait until"
            f" `python -m localcluster status --dir {directory}` shows its kubeconfig."
        ) from None
    return content


def _pair(paths: list[str]) -> KeyPairFiles:
    certificate, key = paths
    return KeyPairFiles(Path(certificate), Path(key))
