"""ray.io/v1 RayJob."""

from typing import Final

from controller.gather.component_status.ray_cluster import ray_cluster_trouble
from controller.gather.component_status.report import SUCCEEDED, Report, in_words
from controller.phases.snapshot import Terminal
from shared.api.json import JsonObject

# With retries left its operator says Retrying instead, in one write, and makes a new cluster.
# ValidationFailed it does not leave before somebody changes the spec; of what is wrapped, nobody.
_OVER: Final = frozenset({"Complete", "Failed", "ValidationFailed"})
_ON_HOLD: Final = frozenset({"Retrying", "Suspending", "Suspended"})


def ray_job_report(item: JsonObject) -> Report:
    """Terminal when its deployment is; well only if that is Complete and the job SUCCEEDED.

    A job that ended in another way (STOPPED by a user, say) has not done what it was there for.
    """
    status = item.get("status") or {}
    deployment, outcome = status.get("jobDeploymentStatus"), status.get("jobStatus")
    reason, message = status.get("reason"), status.get("message")
    if deployment == "Complete" and outcome == "SUCCEEDED":
        return SUCCEEDED
    if deployment in _OVER:
        ended = f"job {outcome}" if outcome else None
        return Report(Terminal.FAILED, in_words(reason or deployment, message, ended))
    if deployment in _ON_HOLD:
        return Report(message=in_words(deployment, reason, message))
    return ray_cluster_trouble(status.get("rayClusterStatus") or {})
