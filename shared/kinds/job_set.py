"""jobset.x-k8s.io/v1alpha2 JobSet."""

from typing import Final

from shared.api.conditions import ComponentReport, from_conditions
from shared.api.objects import PODS, JsonObject, Resource
from shared.kinds.job import COMPLETION_INDEX, JOBS, pods_at_once
from shared.kinds.kind import (
    SERVICES,
    TAS_POD_INDEX_LABEL,
    TAS_SUB_GROUP_COUNT,
    TAS_SUB_GROUP_INDEX_LABEL,
    Kind,
    Maker,
    PodSet,
    exists,
    length_at,
    lenient_count_at,
)

_JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"


def pod_sets(template: JsonObject) -> tuple[PodSet, ...]:
    """One for each of its replicated Jobs."""
    found = []
    for index in range(length_at(template, "template.spec.replicatedJobs")):
        job = f"template.spec.replicatedJobs[{index}]"
        if not exists(template, f"{job}.template"):
            continue
        replicas = lenient_count_at(template, f"{job}.replicas", default=1)
        found.append(
            PodSet(
                f"{job}.template.spec.template",
                replicas * pods_at_once(template, f"{job}.template.spec"),
                {
                    TAS_POD_INDEX_LABEL: COMPLETION_INDEX,
                    TAS_SUB_GROUP_INDEX_LABEL: _JOB_INDEX,
                    TAS_SUB_GROUP_COUNT: str(replicas),
                },
            )
        )
    return tuple(found)


def report(item: JsonObject) -> ComponentReport:
    """Failed only when its own failure policy has given up, in one write with `terminalState`.

    While its Jobs fail and it restarts them, there is no such condition (kueue.md 5.5).
    """
    return from_conditions(item, succeeded="Completed", failed="Failed", trouble=("Suspended",))


JOB_SET = Kind(
    resource=Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"),
    granted="Wrapped sets of Jobs.",
    versions=("jobset.x-k8s.io/v1alpha2",),
    pod_sets=pod_sets,
    report=report,
    ends=True,
    owns=(PODS, JOBS, SERVICES),
    makers=(Maker(JOBS, "jobset.sigs.k8s.io/jobset-name"),),
)
