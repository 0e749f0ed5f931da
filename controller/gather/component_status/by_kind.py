"""Which Kinds say themselves how they ended. A new one is one file and one row."""

from collections.abc import Callable
from typing import Final

from controller.gather.component_status.job import job_report
from controller.gather.component_status.job_set import job_set_report
from controller.gather.component_status.pod import pod_report
from controller.gather.component_status.pytorch_job import pytorch_job_report
from controller.gather.component_status.ray_job import ray_job_report
from controller.gather.component_status.report import Report
from shared.api.json import JsonObject

REPORT_BY_KIND: Final[dict[str, Callable[[JsonObject], Report]]] = {
    "Pod": pod_report,
    "batch/Job": job_report,
    "kubeflow.org/PyTorchJob": pytorch_job_report,
    "jobset.x-k8s.io/JobSet": job_set_report,
    "ray.io/RayJob": ray_job_report,
}
"""`group/Kind` to the function that reads the end out of an object of that Kind."""
