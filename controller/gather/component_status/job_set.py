"""jobset.x-k8s.io/v1alpha2 JobSet."""

from controller.gather.component_status.report import Report, from_conditions
from shared.api.json import JsonObject


def job_set_report(item: JsonObject) -> Report:
    """Failed only when its own failure policy has given up, in one write with `terminalState`.

    While its Jobs fail and it restarts them, there is no such condition (kueue.md 5.5).
    """
    return from_conditions(item, succeeded="Completed", failed="Failed", trouble=("Suspended",))
