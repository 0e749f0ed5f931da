"""batch/v1 Job."""

from collections.abc import Iterator
from typing import Final

from shared.api.conditions import ComponentReport, Progress, from_conditions, number
from shared.api.objects import PODS, JsonObject, Resource
from shared.kinds.kind import TAS_POD_INDEX_LABEL, IndexLabel, Kind, PodSet, count_at

JOBS: Final = Resource("batch", "v1", "jobs", "Job")
BACKOFF_LIMIT: Final = 6  # the default of a Job
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"


def pod_sets(template: JsonObject) -> tuple[PodSet, ...]:
    """Return one pod set, with as many pods as may run at once."""
    return (
        PodSet(
            "template.spec.template",
            pods_at_once(template, "template.spec"),
            {TAS_POD_INDEX_LABEL: COMPLETION_INDEX},
        ),
    )


def pods_at_once(template: JsonObject, spec: str) -> int:
    """Return the parallelism, limited to completions. Completions alone give 1."""
    parallelism = count_at(template, f"{spec}.parallelism")
    return min(parallelism, count_at(template, f"{spec}.completions", default=parallelism))


def job_specs(_template: JsonObject) -> Iterator[str]:
    """Yield the path of its own spec."""
    yield "template.spec"


def report(item: JsonObject) -> ComponentReport:
    """Report the end by Complete and Failed, which are set when no pod runs any more.

    FailureTarget and SuccessCriteriaMet come earlier, while the last pods terminate. FailureTarget
    is only a message: the later Failed decides, with all exit codes known.
    """
    return from_conditions(
        item, succeeded="Complete", failed="Failed", trouble=("FailureTarget", "Suspended")
    )


def progress(item: JsonObject) -> Progress:
    """Return the Job's own counts, which outlive its pods. A suspended Job wants no pod."""
    suspended = (item.get("spec") or {}).get("suspend") is True
    status = item.get("status") or {}
    return Progress(
        number(status, "succeeded"),
        wanted=0 if suspended else None,
        indices=status.get("completedIndexes") or "",
    )


JOB = Kind(
    resource=JOBS,
    granted="Wrapped Jobs, whose status shows how they ended.",
    versions=("batch/v1",),
    pod_sets=pod_sets,
    report=report,
    ends=True,
    progress=progress,
    owns=(PODS,),
    finalizes_pods=True,
    # Read in Kubernetes 1.37, pkg/controller/job: a sync of a finished Job returns before it makes
    # pods. The sync that finishes a Job writes that last.
    idle_after_end=True,
    index_label=IndexLabel(COMPLETION_INDEX),
    job_specs=job_specs,
)
