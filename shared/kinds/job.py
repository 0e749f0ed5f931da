"""batch/v1 Job."""

from typing import Final

from shared.api.conditions import ComponentReport, from_conditions
from shared.api.objects import PODS, JsonObject, Resource
from shared.kinds.kind import TAS_POD_INDEX_LABEL, IndexLabel, Kind, PodSet, lenient_count_at

JOBS: Final = Resource("batch", "v1", "jobs", "Job")
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"


def pod_sets(template: JsonObject) -> tuple[PodSet, ...]:
    """One, of as many pods as may run at once."""
    return (
        PodSet(
            "template.spec.template",
            pods_at_once(template, "template.spec"),
            {TAS_POD_INDEX_LABEL: COMPLETION_INDEX},
        ),
    )


def pods_at_once(template: JsonObject, spec: str) -> int:
    """The parallelism, but never more than completions. Completions alone give 1."""
    parallelism = lenient_count_at(template, f"{spec}.parallelism", default=1)
    return min(parallelism, lenient_count_at(template, f"{spec}.completions", default=parallelism))


def report(item: JsonObject) -> ComponentReport:
    """Complete and Failed are set when no pod runs any more.

    FailureTarget and SuccessCriteriaMet come before, while its last pods are being ended. The
    former is only told: the Failed that follows decides, with all exit codes known.
    """
    return from_conditions(
        item, succeeded="Complete", failed="Failed", trouble=("FailureTarget", "Suspended")
    )


JOB = Kind(
    resource=JOBS,
    granted="Wrapped Jobs, whose status says how they ended.",
    versions=("batch/v1",),
    pod_sets=pod_sets,
    report=report,
    ends=True,
    owns=(PODS,),
    index_label=IndexLabel(COMPLETION_INDEX),
)
