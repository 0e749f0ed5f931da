"""Builds the AppWrappers of simulated runs. Annotations define how their pods run and end."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from shared.api.names import FINALIZER
from shared.api.objects import JsonObject
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.autopilot import GPU
from tests.support.builders.jobs import job_of, pytorch_job
from tests.support.builders.operated_kinds import job_set, leader_worker_set, ray_cluster
from tests.support.builders.pods import pod_of, pod_template

NAMESPACE: Final = "team1"
# Short periods: a run takes less virtual time, and its timers fire between other steps.
QUICK: Final = {"failureGracePeriodDuration": "0s", "retryPausePeriodDuration": "2s"}


def template(container: str = "main", **simulation: str) -> JsonObject:
    """Build a pod template that uses one GPU. `simulation`: how its pods run, as on the cluster.

    `grace`: their grace period in seconds.
    """
    grace = simulation.pop("grace", "2")
    body = pod_template(container=container, **{"run_for": "5s", **simulation})
    body["spec"]["terminationGracePeriodSeconds"] = int(grace)
    body["spec"]["containers"][0]["resources"] = {"requests": {GPU: "1"}, "limits": {GPU: "1"}}
    return body


def job(name: str = "", pods: int = 2, /, **simulation: str) -> JsonObject:
    """Build a Job; without a name it gets one from generateName. `backoff`: its backoffLimit."""
    backoff = simulation.pop("backoff", "0")
    body = job_of(name, template(**simulation), pods)
    if not name:
        body["metadata"] = {"generateName": "j-"}
    body["spec"]["backoffLimit"] = int(backoff)
    return body


def pytorch(name: str, workers: int = 1, *, worker: Mapping[str, str] | None = None) -> JsonObject:
    """Build a PyTorchJob of a master and `workers` workers. `worker`: how the workers' pods run."""
    roles: dict[str, Any] = {"Master": template("pytorch")}
    if workers:
        roles["Worker"] = (workers, template("pytorch", **(worker or {})))
    return pytorch_job(name, "Never", **roles)


def jobs_together(name: str, **simulation: str) -> JsonObject:
    """Build a JobSet of two Jobs of one pod each."""
    return job_set(name, a=template(), b=template(**simulation))


def ray(name: str) -> JsonObject:
    """Build a RayCluster of a head and one worker, which run until they are deleted."""
    return ray_cluster(name)


def leader_and_worker(name: str) -> JsonObject:
    """Build a LeaderWorkerSet of one leader and one worker, which run until they are deleted."""
    body = template(hang="running")
    body["spec"]["restartPolicy"] = "Always"
    return leader_worker_set(name, worker=body, size=2)


def pod(name: str, **simulation: str) -> JsonObject:
    """Build a wrapped Pod."""
    return pod_of(template(**simulation), name=name)


def config_map(name: str, *, kept: bool = False) -> JsonObject:
    """Build a ConfigMap; `kept`: it survives resets and suspensions."""
    marks = {"workload.codeflare.dev.appwrapper/keep": "true"} if kept else {}
    metadata = {"name": name, **({"annotations": marks} if marks else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}}


def wrapped(
    name: str,
    *components: JsonObject,
    periods: Mapping[str, str] = MappingProxyType({}),
    finalizer: bool = True,
) -> JsonObject:
    """Build a suspended AppWrapper, as the webhooks of Kueue and of this project leave it.

    Without `finalizer`: as Kueue's webhook alone leaves it.
    """
    body = appwrapper(name, *components, annotations={**QUICK, **periods})
    body["spec"]["suspend"] = True
    if finalizer:
        body["metadata"]["finalizers"] = [FINALIZER]
    return body
