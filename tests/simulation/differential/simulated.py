"""Run a script of the differential test against the simulated API server."""

from collections.abc import Sequence
from typing import Final

from shared.api.objects import CONFIGMAPS, NAMESPACES
from tests.simulation.actors.garbage_collector import GarbageCollector
from tests.simulation.api.client import SimulatedClient
from tests.simulation.choices import Recorded
from tests.simulation.cluster import Cluster
from tests.simulation.differential.run import Result, Run
from tests.simulation.differential.steps import AnyStep
from tests.simulation.faults import Faults

_NAMESPACE: Final = "differential"


def simulated(script: Sequence[AnyStep], *, earlier_objects: int = 0) -> Result:
    """Return what the simulated API server answers, without faults.

    `earlier_objects` exist before, so that UIDs and versions differ.
    """
    cluster = Cluster(Recorded())
    GarbageCollector(cluster)
    for name in (_NAMESPACE, "another"):
        cluster.store.create(NAMESPACES, None, {"metadata": {"name": name}})
    for _ in range(earlier_objects):
        cluster.store.create(CONFIGMAPS, "another", {"metadata": {"generateName": "made-"}})
    client = SimulatedClient(cluster, Faults(cluster), "tester")
    return cluster.run(Run(client, _NAMESPACE).result(script))
