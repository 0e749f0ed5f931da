"""v1 Pod."""

from controller.gather.component_status.report import UNFINISHED, Report
from controller.phases.snapshot import Terminal
from shared.api.json import JsonObject


def pod_report(item: JsonObject) -> Report:
    """A pod that failed is no failed component: it gets the grace period of failed pods."""
    if (item.get("status") or {}).get("phase") == "Succeeded":
        return Report(Terminal.SUCCEEDED)
    return UNFINISHED
