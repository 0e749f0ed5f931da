"""All operators of wrapped Kinds beside the controllers of Kubernetes itself."""

from tests.simulation.actors.job_set import JobSetController
from tests.simulation.actors.leader_worker_set import (
    LeaderWorkerPods,
    LeaderWorkerSets,
    defaulted,
)
from tests.simulation.actors.ray_cluster import RayClusterController
from tests.simulation.actors.stateful_set import StatefulSetController
from tests.simulation.actors.training_operator import TrainingOperator
from tests.simulation.cluster import Cluster


def start_operators(cluster: Cluster) -> None:
    """Add one of each to the cluster."""
    TrainingOperator(cluster)
    JobSetController(cluster)
    RayClusterController(cluster)
    StatefulSetController(cluster, defaulted)
    LeaderWorkerSets(cluster)
    LeaderWorkerPods(cluster)
