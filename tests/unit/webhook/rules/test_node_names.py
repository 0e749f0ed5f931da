"""In a team, the scheduler places every pod."""

from typing import Any

import pytest

from tests.support.builders import wrapped_kinds
from tests.support.builders.admission import (
    POD,
    component,
    direct_errors,
    errors_of,
    queued,
    team_facts,
)

BOUND = (
    "Forbidden: the pod would skip the scheduler, and so run on a cordoned or broken node: remove "
    "this field (a nodeSelector can name the node)"
)
TEMPLATE = {"spec": {**POD["spec"], "nodeName": "gpu-1"}}
FREE = {"spec": POD["spec"]}
HEAD = {"headGroupSpec": {"template": TEMPLATE}}
GROUPS = {
    "headGroupSpec": {"template": FREE},
    "workerGroupSpecs": [{"groupName": "a", "replicas": 1, "template": TEMPLATE}],
}
kind = wrapped_kinds.kind
DIRECT = [
    (
        kind(
            "kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs={"Master": {"template": TEMPLATE}}
        ),
        "spec.pytorchReplicaSpecs.Master.template",
    ),
    (kind("ray.io/v1", "RayCluster", **HEAD), "spec.headGroupSpec.template"),
    (kind("ray.io/v1", "RayCluster", **GROUPS), "spec.workerGroupSpecs[0].template"),
    (
        kind("ray.io/v1", "RayJob", rayClusterSpec=HEAD),
        "spec.rayClusterSpec.headGroupSpec.template",
    ),
    (
        kind(
            "ray.io/v1",
            "RayJob",
            rayClusterSpec={"headGroupSpec": {"template": FREE}},
            submitterPodTemplate=TEMPLATE,
        ),
        "spec.submitterPodTemplate",
    ),
]
JOB = {"template": {"spec": {"template": TEMPLATE}}, "name": "a"}
WRAPPED = [
    *DIRECT,
    ({**POD, **TEMPLATE}, ""),
    (kind("batch/v1", "Job", template=TEMPLATE), "spec.template"),
    (
        kind("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=[JOB]),
        "spec.replicatedJobs[0].template.spec.template",
    ),
]


def refused(body: dict[str, Any]) -> list[str]:
    return errors_of(queued(component(body)), known=team_facts())


@pytest.mark.parametrize(("body", "path"), WRAPPED)
def test_a_wrapped_pod_template_that_names_its_node_is_refused(body: Any, path: str) -> None:
    place = ".".join(part for part in ("template", path, "spec.nodeName") if part)
    assert refused(body) == [f"spec.components[0].{place}: {BOUND}"]
    assert errors_of(queued(component(body))) == []


@pytest.mark.parametrize(("body", "path"), DIRECT)
def test_a_direct_pod_template_that_names_its_node_is_refused(body: Any, path: str) -> None:
    assert direct_errors(body) == [f"{path}.spec.nodeName: {BOUND}"]


@pytest.mark.parametrize("node", ["", None])
def test_an_empty_node_name_is_none(node: Any) -> None:
    template = {"spec": {**POD["spec"], "nodeName": node}}
    roles = {"Master": {"template": template}}
    assert refused(kind("batch/v1", "Job", template=template)) == []
    assert direct_errors(kind("kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs=roles)) == []
