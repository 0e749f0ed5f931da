"""jobset.x-k8s.io/v1alpha2 JobSet."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from shared.api.conditions import ComponentReport, Progress, from_conditions, number
from shared.api.objects import PODS, JsonObject, Resource
from shared.kinds.job import COMPLETION_INDEX, JOBS, pods_at_once
from shared.kinds.kind import (
    TAS_POD_INDEX_LABEL,
    TAS_SUB_GROUP_COUNT,
    TAS_SUB_GROUP_INDEX_LABEL,
    Kind,
    Maker,
    PodSet,
    count_at,
    length_at,
    value_or_none,
)
from shared.kinds.without_pods import SERVICES

JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"
# An agent in each pod writes it if the JobSet has the restartStrategy InPlaceRestart (0.12, alpha).
# The JobSet's controller then restarts the containers of all pods in step, counts these restarts,
# and fails the JobSet above maxRestarts. It requires a backoffLimit of 2147483647 in every Job.
IN_PLACE_RESTART_ATTEMPT: Final = "jobset.sigs.k8s.io/in-place-restart-attempt"


def pod_sets(template: JsonObject) -> tuple[PodSet, ...]:
    found = []
    for index in range(length_at(template, "template.spec.replicatedJobs")):
        job = f"template.spec.replicatedJobs[{index}]"
        replicas = count_at(template, f"{job}.replicas")
        found.append(
            PodSet(
                f"{job}.template.spec.template",
                replicas * pods_at_once(template, f"{job}.template.spec"),
                {
                    TAS_POD_INDEX_LABEL: COMPLETION_INDEX,
                    TAS_SUB_GROUP_INDEX_LABEL: JOB_INDEX,
                    TAS_SUB_GROUP_COUNT: str(replicas),
                },
            )
        )
    return tuple(found)


def job_specs(template: JsonObject) -> Iterator[str]:
    for index in range(length_at(template, "template.spec.replicatedJobs")):
        yield f"template.spec.replicatedJobs[{index}].template.spec"


def restarts_in_place(template: JsonObject) -> bool:
    """True if the JobSet restarts containers, and no Job fails because a pod failed."""
    strategy = value_or_none(template, "template.spec.failurePolicy.restartStrategy")
    return isinstance(strategy, str) and strategy == "InPlaceRestart"


def retries(_template: JsonObject) -> Iterator[tuple[str, int]]:
    """Yield maxRestarts: a JobSet restarts all of its Jobs."""
    yield "template.spec.failurePolicy.maxRestarts", 0


def report(item: JsonObject) -> ComponentReport:
    """Report failure only after its own failure policy gave up, in one write with `terminalState`.

    While its Jobs fail and the JobSet controller restarts them, there is no such condition.
    """
    return from_conditions(item, succeeded="Completed", failed="Failed", trouble=("Suspended",))


@dataclass(frozen=True, slots=True)
class _Jobs:
    """The Jobs of one template, and their part of the JobSet's status."""

    name: str
    replicas: int
    pods: int  # of each Job
    depends_on: list[JsonObject]
    status: JsonObject = field(default_factory=dict)

    @property
    def succeeded(self) -> int:
        return min(self.replicas, number(self.status, "succeeded"))

    @property
    def began(self) -> bool:
        """True if some of the Jobs run or ran. A suspended Job may wait for others."""
        counts = ("ready", "active", "failed", "succeeded")
        return any(number(self.status, each) for each in counts)

    def reached(self, wanted: object) -> bool:
        """True if all Jobs reached the status. Only Complete requires success of each.

        For any other status, ready and failed Jobs count too.
        """
        others = number(self.status, "ready") + number(self.status, "failed")
        return self.succeeded + (0 if wanted == "Complete" else others) >= self.replicas


def progress(item: JsonObject) -> Progress:
    """Return the pods of its succeeded Jobs, and the pods of the Jobs that may start by now."""
    spec = item.get("spec") or {}
    jobs = list(_jobs(item))
    name = (item.get("metadata") or {}).get("name") or ""
    counted = Progress(
        sum(each.succeeded * each.pods for each in jobs),
        wanted=0 if spec.get("suspend") is True else None,
        by_owner=tuple(
            (f"{name}-{each.name}-", each.succeeded, each.pods) for each in jobs if each.succeeded
        ),
    )
    in_order = (spec.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder"
    in_stages = in_order or any(each.depends_on for each in jobs)
    if not in_stages or counted.wanted is not None:
        return counted
    return replace(counted, wanted=_wanted(jobs, in_order))


def _wanted(jobs: list[_Jobs], in_order: bool) -> int:
    wanted = 0
    by_name = {each.name: each for each in jobs}
    turn = True
    for each in jobs:
        free = all(
            (other := by_name.get(on.get("name") or "")) and other.reached(on.get("status"))
            for on in each.depends_on
        )
        if each.began or (turn and free):
            wanted += each.replicas * each.pods
        # In order, the JobSet controller stops at the first unready one. No JobSet has an order and
        # dependsOn.
        turn = turn and (not in_order or each.reached("Ready"))
    return wanted


def _jobs(item: JsonObject) -> Iterator[_Jobs]:
    statuses = (item.get("status") or {}).get("replicatedJobsStatus") or ()
    known = {each.get("name"): each for each in statuses}
    for index in range(length_at(item, "template.spec.replicatedJobs")):
        path = f"template.spec.replicatedJobs[{index}]"
        template = value_or_none(item, path)
        if not isinstance(template, dict):
            continue
        name = template.get("name") or ""
        yield _Jobs(
            name,
            count_at(item, f"{path}.replicas"),
            pods_at_once(item, f"{path}.template.spec"),
            template.get("dependsOn") or [],
            known.get(name) or {},
        )


JOB_SET = Kind(
    resource=Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"),
    granted="Wrapped sets of Jobs.",
    versions=("jobset.x-k8s.io/v1alpha2",),
    pod_sets=pod_sets,
    report=report,
    ends=True,
    progress=progress,
    owns=(PODS, JOBS, SERVICES),
    makers=(Maker(JOBS, "jobset.sigs.k8s.io/jobset-name"),),
    job_specs=job_specs,
    retries=retries,
    default_restart_policy="OnFailure",
)
