"""A real node: containerd, kubelet, kube-proxy in namespaces that end with the cluster's process.

Outside them there is one end of a veth pair with its routes, and one directory per cgroup
hierarchy. No process, mount, bridge, sysctl or iptables rule of the node exists on the host.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from localcluster.realnode.network import NodeNetwork
    from localcluster.realnode.node import RealNode

COMPONENTS = ("node", "pause")
"""The components to build for it, by their names in localcluster/programs/catalogue.py."""

__all__ = ["COMPONENTS", "NodeNetwork", "RealNode"]

_HOMES = {"NodeNetwork": "network", "RealNode": "node"}


def __getattr__(name: str) -> Any:
    # Imported late: the programs inside the namespaces belong to this package and use none of it.
    if name not in _HOMES:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
