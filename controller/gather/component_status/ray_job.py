"""ray.io/v1 RayJob."""

from controller.gather.component_status.report import UNFINISHED, Report
from controller.phases.snapshot import Terminal
from shared.api.json import JsonObject


def ray_job_report(item: JsonObject) -> Report:
    """Terminal when its deployment is: Failed, or Complete with the job SUCCEEDED or not."""
    status = item.get("status") or {}
    match status.get("jobDeploymentStatus"), status.get("jobStatus"):
        case "Complete", "SUCCEEDED":
            return Report(Terminal.SUCCEEDED)
        case "Complete" | "Failed", outcome:
            words = [status.get("reason") or "", status.get("message") or "", f"job {outcome}"]
            return Report(Terminal.FAILED, ": ".join(word for word in words if word))
    return UNFINISHED
