"""v1 Pod."""

from controller.gather.component_status.report import SUCCEEDED, UNFINISHED, Report
from shared.api.json import JsonObject


def pod_report(item: JsonObject) -> Report:
    """A pod that failed is no failed component: it gets the grace period of failed pods."""
    return SUCCEEDED if (item.get("status") or {}).get("phase") == "Succeeded" else UNFINISHED
