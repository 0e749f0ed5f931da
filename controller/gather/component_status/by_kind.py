"""Which Kinds say something of themselves that their pods do not. A new one is a file and a row."""

from collections.abc import Callable
from typing import Final

from controller.gather.component_status.deployment import deployment_report
from controller.gather.component_status.job import job_report
from controller.gather.component_status.job_set import job_set_report
from controller.gather.component_status.leader_worker_set import leader_worker_set_report
from controller.gather.component_status.pod import pod_report
from controller.gather.component_status.pytorch_job import pytorch_job_report
from controller.gather.component_status.ray_cluster import ray_cluster_report
from controller.gather.component_status.ray_job import ray_job_report
from controller.gather.component_status.report import Report
from controller.gather.component_status.stateful_set import stateful_set_report
from shared.api.json import JsonObject

_Reports = dict[str, Callable[[JsonObject], Report]]

_ENDING: Final[_Reports] = {
    "Pod": pod_report,
    "batch/Job": job_report,
    "kubeflow.org/PyTorchJob": pytorch_job_report,
    "jobset.x-k8s.io/JobSet": job_set_report,
    "ray.io/RayJob": ray_job_report,
}
_SERVING: Final[_Reports] = {
    "apps/Deployment": deployment_report,
    "apps/StatefulSet": stateful_set_report,
    "leaderworkerset.x-k8s.io/LeaderWorkerSet": leader_worker_set_report,
    "ray.io/RayCluster": ray_cluster_report,
}

REPORT_BY_KIND: Final[_Reports] = {**_ENDING, **_SERVING}
"""`group/Kind` to the function that reads what an object of that Kind says of itself."""


def says_how_it_ended(group_kind: str) -> bool:
    """Objects of that Kind do, so that their pods need not."""
    return group_kind in _ENDING
