"""Reads the administrator's kubeconfig of a local cluster, which names files."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import yaml


@dataclass(frozen=True, slots=True)
class Access:
    """The address and the credentials of an API server."""

    server: str
    trust: ssl.SSLContext


def read_access(kubeconfig: Path) -> Access:
    """Raises KeyError if the local cluster did not write it."""
    content = yaml.safe_load(kubeconfig.read_text())
    cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
    trust = ssl.create_default_context(cafile=cluster["certificate-authority"])
    trust.load_cert_chain(user["client-certificate"], user["client-key"])
    return Access(cluster["server"], trust)
