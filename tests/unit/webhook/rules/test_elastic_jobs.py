"""In a team, no part of an AppWrapper is an elastic job."""

from typing import Any

import pytest

from tests.support.builders import wrapped_kinds
from tests.support.builders.admission import POD, component, errors_of, queued, team_facts

FREE = {"spec": POD["spec"]}
kind = wrapped_kinds.kind


def refused(body: dict[str, Any]) -> list[str]:
    return errors_of(queued(component(body)), known=team_facts())


ELASTIC = "kueue.x-k8s.io/elastic-job"
GATED = (
    f".metadata.annotations[{ELASTIC}]: Forbidden: Kueue would never start the component's pods, "
    "which would hold quota: an AppWrapper cannot be elastic: remove this annotation"
)


def elastic(body: dict[str, Any], value: Any = "true") -> dict[str, Any]:
    return {**body, "metadata": {"name": "e", "annotations": {ELASTIC: value}}}


JOB_OF_SET: dict[str, Any] = {"spec": {"template": FREE}}


@pytest.mark.parametrize("value", ["true", "false"])
@pytest.mark.parametrize(
    "body",
    [
        kind("batch/v1", "Job", template=FREE),
        kind("ray.io/v1", "RayCluster", **wrapped_kinds.ray()),
        wrapped_kinds.JOB_SET,
        POD,
    ],
    ids=lambda body: str(body["kind"]),
)
def test_a_wrapped_elastic_job_is_refused(body: dict[str, Any], value: str) -> None:
    assert refused(elastic(body, value)) == [f"spec.components[0].template{GATED}"]
    assert errors_of(queued(component(elastic(body)))) == []


def test_elastic_jobs_of_a_job_set_are_refused() -> None:
    """Kueue gates each Job with the annotation, also one that a JobSet makes."""
    jobs = [{"name": "a", "template": JOB_OF_SET}, {"name": "b", "template": elastic(JOB_OF_SET)}]
    assert refused(kind("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=jobs)) == [
        f"spec.components[0].template.spec.replicatedJobs[1].template{GATED}"
    ]


@pytest.mark.parametrize("annotations", [None, {}, {"kueue.x-k8s.io/elastic": "true"}])
def test_other_annotations_are_free(annotations: Any) -> None:
    body = kind("batch/v1", "Job", template=FREE)
    assert refused({**body, "metadata": {"name": "j", "annotations": annotations}}) == []
