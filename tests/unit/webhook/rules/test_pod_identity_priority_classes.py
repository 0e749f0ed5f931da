"""No team runs as a part of the system."""

from typing import Any

import pytest

from tests.support.builders.admission import (
    POD,
    component,
    direct_errors,
    errors_of,
    queued,
    team_facts,
)

CRITICAL = "system-node-critical"
REFUSED = (
    f'Invalid value: "{CRITICAL}": system- classes are for the platform\'s own pods: name another '
    "class, or none"
)


def template(priority: Any = CRITICAL) -> dict[str, Any]:
    return {"spec": {**POD["spec"], "priorityClassName": priority}}


def made(kind: str, **spec: Any) -> dict[str, Any]:
    group = {"Job": "batch", "PyTorchJob": "kubeflow.org"}.get(kind, "ray.io")
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "m"}, "spec": spec}


def policy(priority: Any) -> dict[str, Any]:
    return {"schedulingPolicy": {"priorityClass": priority}}


HEAD = {"headGroupSpec": {"template": template()}}
SUBMITTED = {
    "rayClusterSpec": {"headGroupSpec": {"template": template(None)}},
    "submitterPodTemplate": template(),
}
CASES = [
    (
        made("PyTorchJob", pytorchReplicaSpecs={"Worker": {"template": template()}}),
        "spec.pytorchReplicaSpecs.Worker.template.spec.priorityClassName",
    ),
    (
        made("PyTorchJob", runPolicy=policy(CRITICAL),
             pytorchReplicaSpecs={"Master": {"template": template(None)}}),
        "spec.runPolicy.schedulingPolicy.priorityClass",
    ),
    (made("RayCluster", **HEAD), "spec.headGroupSpec.template.spec.priorityClassName"),
    (
        made("RayJob", rayClusterSpec=HEAD),
        "spec.rayClusterSpec.headGroupSpec.template.spec.priorityClassName",
    ),
    (made("RayJob", **SUBMITTED), "spec.submitterPodTemplate.spec.priorityClassName"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "path"), CASES)
def test_in_a_team_system_classes_are_refused(body: Any, path: str) -> None:
    assert direct_errors(body) == [f"{path}: {REFUSED}"]
    assert errors_of(queued(component(body)), known=team_facts()) == [
        f"spec.components[0].template.{path}: {REFUSED}"
    ]
    assert errors_of(queued(component(body))) == []


def test_so_they_are_in_kinds_that_are_only_wrapped() -> None:
    body = made("Job", template=template())
    pod = {**POD, "spec": template("system-cluster-critical")["spec"]}
    assert errors_of(queued(component(body), component(pod)), known=team_facts()) == [
        f"spec.components[0].template.spec.template.spec.priorityClassName: {REFUSED}",
        "spec.components[1].template.spec.priorityClassName: "
        + REFUSED.replace(CRITICAL, "system-cluster-critical"),
    ]


@pytest.mark.parametrize("priority", ["high-priority", "default-priority", "systematic", "", None])
def test_other_classes_are_free(priority: Any) -> None:
    roles = {"Master": {"template": template(priority)}}
    body = made("PyTorchJob", runPolicy=policy(priority), pytorchReplicaSpecs=roles)
    assert direct_errors(body) == []
    assert errors_of(queued(component(body)), known=team_facts()) == []
