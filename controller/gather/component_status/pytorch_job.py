"""kubeflow.org/v1 PyTorchJob."""

from controller.gather.component_status.report import Report, from_conditions
from shared.api.json import JsonObject


def pytorch_job_report(item: JsonObject) -> Report:
    """Succeeded follows the master; workers may still run then (kueue.md 5.2).

    Once Failed nothing changes any more: Restarting, or a Succeeded of the same moment, may stay
    True beside it. Restarting alone is no end: pods are replaced, or fail for good and are counted.
    """
    return from_conditions(
        item, succeeded="Succeeded", failed="Failed", trouble=("Suspended", "Restarting")
    )
