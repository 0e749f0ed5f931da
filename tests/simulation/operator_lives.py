"""Reports of operators on single objects: real and simulated operators report the same."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from shared.api.conditions import conditions_of, true_types
from shared.api.objects import JsonObject, Resource
from shared.kinds.table import report_of
from tests.simulation.actors.garbage_collector import GarbageCollector
from tests.simulation.actors.job_controller import JobController
from tests.simulation.actors.kubelet import Kubelet
from tests.simulation.actors.operators import start_operators
from tests.simulation.actors.scheduler import Scheduler
from tests.simulation.actors.small_cluster import TEAM, SmallCluster
from tests.simulation.api.kinds import resource_of
from tests.support.builders.jobs import pytorch_job
from tests.support.builders.operated_kinds import (
    always,
    job_set,
    leader_worker_set,
    ray_cluster,
)
from tests.support.builders.pods import pod_template

# Conditions that no record reads. When the head of a RayCluster is ready depends on its kubelet.
_IGNORED: Final = frozenset(
    {"StartupPolicyInProgress", "StartupPolicyCompleted", "RestartingJobSet", "HeadPodReady"}
)


class OperatorLife(NamedTuple):
    """`patch` is merged into the object `after` seconds, and the run lasts `seconds`."""

    body: JsonObject
    seconds: float
    patch: JsonObject = {}  # noqa: RUF012  never changed
    after: float = 0.0


def _trains(restart: str, **worker: str) -> JsonObject:
    master = pod_template(container="pytorch", run_for="6s")
    workers = pod_template(container="pytorch", **{"run_for": "3s", **worker})
    return pytorch_job("life", restart, Master=master, Worker=(2, workers))


def _serves() -> JsonObject:
    template = pod_template(hang="running")
    return leader_worker_set("life", worker=always(template), replicas=2, size=2)


LIVES: Final[Mapping[str, OperatorLife]] = {
    "PyTorchJob succeeds": OperatorLife(_trains("Never"), 20),
    "PyTorchJob fails": OperatorLife(_trains("Never", exit_code="1"), 20),
    "JobSet succeeds": OperatorLife(
        job_set("life", a=pod_template(run_for="2s"), b=pod_template(run_for="6s")), 30
    ),
    "JobSet restarts, then fails": OperatorLife(
        job_set(
            "life",
            policies={"failurePolicy": {"maxRestarts": 1}},
            a=pod_template(run_for="1h"),
            b=pod_template(run_for="2s", exit_code="1"),
        ),
        40,
    ),
    "RayCluster is suspended": OperatorLife(
        ray_cluster("life", 2), 40, {"spec": {"suspend": True}}, 15
    ),
    "LeaderWorkerSet serves": OperatorLife(_serves(), 20),
}


def reported(items: Iterable[JsonObject]) -> list[str]:
    """Return each new report: true conditions, state, restarts, and the end by the record."""
    found: list[str] = []
    for item in items:
        status = item.get("status") or {}
        held = sorted(true_types(conditions_of(status)) - _IGNORED)
        end = report_of(resource_of(item).gvk.group_kind, item).terminal
        parts = [*held, *(str(status[key]) for key in ("state", "restarts") if status.get(key))]
        text = ", ".join([*parts, *([f"ends: {end}"] if end else [])])
        if text and found[-1:] != [text]:
            found.append(text)
    return found


def simulated(life: OperatorLife) -> list[str]:
    """Run the object with the simulated operators."""
    cluster = SmallCluster(nodes=0)
    cluster.add_node("n1", memory="100Gi")
    for actor in (JobController, Scheduler, GarbageCollector):
        actor(cluster)
    Kubelet(cluster)
    start_operators(cluster)
    resource: Resource = resource_of(life.body)
    cluster.create(resource, life.body)
    cluster.advance(life.after)
    if life.patch:
        cluster.store.change(
            resource, TEAM, "life", lambda item: item["spec"].update(life.patch["spec"])
        )
    cluster.advance(life.seconds - life.after)
    return reported(each.item for each in cluster.writes if each.resource == resource)


# The reports of the real operators, of the versions in localcluster/components. `python -m
# tests.simulation.record_operators` prints them again.
REAL: Final[Mapping[str, list[str]]] = {
    "PyTorchJob succeeds": ["Created", "Created, Running", "Created, Succeeded, ends: Succeeded"],
    "PyTorchJob fails": ["Created", "Created, Running", "Created, Failed, ends: Failed"],
    "JobSet succeeds": ["Completed, ends: Succeeded"],
    "JobSet restarts, then fails": ["1", "Failed, 1, ends: Failed"],
    "RayCluster is suspended": [
        "RayClusterProvisioned, ready",
        "RayClusterProvisioned, RayClusterSuspending, ready",
        "RayClusterSuspended, suspended",
    ],
    "LeaderWorkerSet serves": ["Progressing", "Available"],
}
