"""batch/v1 Job."""

from controller.gather.component_status.report import Report, from_conditions
from shared.api.json import JsonObject


def job_report(item: JsonObject) -> Report:
    """Complete and Failed are set when no pod runs any more; FailureTarget comes before."""
    return from_conditions(item, succeeded="Complete", failed="Failed")
