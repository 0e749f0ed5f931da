"""The programs of a simulated cluster beside the product: Kubernetes' own, Kueue, the operators."""

from dataclasses import dataclass
from typing import Final

from shared.api.objects import NAMESPACES
from shared.waits.quota import CLUSTER_QUEUES
from tests.simulation.actors.garbage_collector import GarbageCollector
from tests.simulation.actors.job_controller import JobController
from tests.simulation.actors.kubelet import Kubelet
from tests.simulation.actors.kueue.kueue import Kueue, cluster_queue
from tests.simulation.actors.node_lifecycle import NodeLifecycle
from tests.simulation.actors.nodes import Nodes
from tests.simulation.actors.operators import start_operators
from tests.simulation.actors.pod_gc import PodGc
from tests.simulation.actors.scheduler import Scheduler
from tests.simulation.acts import QUEUE
from tests.simulation.api.kinds import LOCAL_QUEUES, RESOURCE_FLAVORS
from tests.simulation.cluster import Cluster
from tests.simulation.scenarios import Scenario
from tests.simulation.workloads import NAMESPACE
from tests.support.builders.autopilot import GPU

_NODES: Final = 4
_WITHOUT_OPERATORS: Final = frozenset({"Job", "Pod", "ConfigMap", "Secret", "Service"})


@dataclass(frozen=True, slots=True)
class Programs:
    """The ones that a run acts on."""

    kueue: Kueue
    nodes: Nodes


def start(cluster: Cluster, scenario: Scenario) -> Programs:
    """Start all programs; the operators only if a component of the scenario needs one."""
    kueue = Kueue(cluster, scenario.kueue)
    Scheduler(cluster)
    Kubelet(cluster, faults_until=scenario.faults_until if scenario.pods_fail else 0.0)
    JobController(cluster)
    GarbageCollector(cluster)
    PodGc(cluster, removes_ended=scenario.pods_vanish)
    kinds = {
        component["template"]["kind"]
        for _, body in scenario.appwrappers
        for component in body["spec"]["components"]
    }
    if not kinds <= _WITHOUT_OPERATORS:
        start_operators(cluster)
    return Programs(kueue, Nodes(cluster, NodeLifecycle(cluster)))


def populate(cluster: Cluster, nodes: Nodes, gpus: int) -> None:
    """Create the team's namespace, its queue with a quota of `gpus`, and the nodes."""
    store = cluster.store
    team = {"name": NAMESPACE, "labels": {"mlbatch-team-namespace": "true"}}
    store.create(NAMESPACES, None, {"metadata": team})
    store.create(RESOURCE_FLAVORS, None, {"metadata": {"name": "default"}, "spec": {}})
    amounts = {GPU: str(gpus), "cpu": "100", "memory": "100Gi"}
    store.create(CLUSTER_QUEUES, None, cluster_queue(QUEUE, **amounts))
    queue = {"metadata": {"name": "default-queue"}, "spec": {"clusterQueue": QUEUE}}
    store.create(LOCAL_QUEUES, NAMESPACE, queue)
    for number in range(_NODES):
        nodes.add(f"n{number}")
