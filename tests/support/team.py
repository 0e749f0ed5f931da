"""Names the objects that this process has for itself on a cluster that others may share.

Each worker of a run has namespaces, quota and nodes of its own, so that no test sees another
worker's. A process that is alone has the cluster's own team, team1, and every node.
"""

import os
from typing import Final

WORKER: Final = os.environ.get("PYTEST_XDIST_WORKER", "")
"""xdist's name of this process (`gw3`); empty if it runs alone."""


def own(name: str) -> str:
    """Return the name for this process."""
    return f"{name}-{WORKER}" if WORKER else name


NAMESPACE: Final = own("team1")
"""The namespace of this process's team. Its ClusterQueue is NAMESPACE-cluster-queue."""
FIRST_NODE: Final = 100 * (1 + int(WORKER.removeprefix("gw"))) if WORKER else 1
"""The number of the first node of this process's queued pods: `gpu-node-NUMBER`."""
FLAVOR: Final = own("default-flavor")
COHORT: Final = own("default-cohort")
_claimed: Final = {NAMESPACE}


def claim(namespace: str) -> None:
    """Register this namespace as this process's: its tests cause all changes there."""
    _claimed.add(namespace)


def claimed() -> frozenset[str]:
    """Return the namespaces of this process."""
    return frozenset(_claimed)
