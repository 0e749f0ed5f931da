"""batch/v1 Job."""

from controller.gather.component_status.report import Report, from_conditions
from shared.api.json import JsonObject


def job_report(item: JsonObject) -> Report:
    """Complete and Failed are set when no pod runs any more.

    FailureTarget and SuccessCriteriaMet come before, while its last pods are being ended. The
    former is only told: the Failed that follows decides, with all exit codes known.
    """
    return from_conditions(
        item, succeeded="Complete", failed="Failed", trouble=("FailureTarget", "Suspended")
    )
