"""Writes kubeconfig files: the user's identity, and the API server's address and authority."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from localcluster.access.certificates import KeyPairFiles
from localcluster.machine.files import replace_private

CLUSTER_NAME = "localcluster"


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """The administrator's access to the API server."""

    server: str
    authority: Path
    admin: KeyPairFiles
    kubeconfig: Path


def with_certificate(client: KeyPairFiles) -> dict[str, Any]:
    """Returns the user section for a client certificate."""
    return {"client-certificate": str(client.certificate), "client-key": str(client.key)}


def with_token_file(token: Path) -> dict[str, Any]:
    """Returns the user section for a token that is read from a file."""
    return {"tokenFile": str(token)}


def write(
    path: Path, *, server: str, authority: Path, user: dict[str, Any], namespace: str = "default"
) -> Path:
    """Writes the file for this user only and returns its path."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": CLUSTER_NAME,
                "cluster": {"server": server, "certificate-authority": str(authority)},
            }
        ],
        "users": [{"name": path.stem, "user": user}],
        "contexts": [
            {
                "name": CLUSTER_NAME,
                "context": {"cluster": CLUSTER_NAME, "user": path.stem, "namespace": namespace},
            }
        ],
        "current-context": CLUSTER_NAME,
    }
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_private(path, yaml.safe_dump(content, sort_keys=False).encode())
    return path
