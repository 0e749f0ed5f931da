"""Whose a pod claims to be: labels under our prefix."""

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

OURS = "workload.codeflare.dev/appwrapper"
TAKEN = f"[{OURS}]: Forbidden: its pods would count as pods of an AppWrapper: remove this label"


def template(*, labelled: bool = False) -> dict[str, Any]:
    labels = {"labels": {"app": "x", **({OURS: "victim"} if labelled else {})}}
    return {"metadata": labels, "spec": POD["spec"]}


def made(kind: str, **spec: Any) -> dict[str, Any]:
    group = "ray.io" if kind.startswith("Ray") else "kubeflow.org"
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": "m"}, "spec": spec}


def ray(**head: Any) -> dict[str, Any]:
    group = {"template": template(), "labels": {"app": "x"}}
    return {"headGroupSpec": {"template": template(), **head}, "workerGroupSpecs": [group]}


ROLES = {"Master": {"template": template(labelled=True)}, "Worker": {"template": template()}}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (
            made("PyTorchJob", pytorchReplicaSpecs=ROLES),
            "spec.pytorchReplicaSpecs.Master.template.metadata.labels",
        ),
        (
            made("RayCluster", **ray(template=template(labelled=True))),
            "spec.headGroupSpec.template.metadata.labels",
        ),
        (made("RayCluster", **ray(labels={OURS: "victim"})), "spec.headGroupSpec.labels"),
        (
            made("RayJob", rayClusterSpec=ray(labels={OURS: "victim"})),
            "spec.rayClusterSpec.headGroupSpec.labels",
        ),
        (
            made("RayJob", rayClusterSpec=ray(), submitterPodTemplate=template(labelled=True)),
            "spec.submitterPodTemplate.metadata.labels",
        ),
    ],
)
def test_an_object_created_directly_cannot_claim_an_appwrapper(body: Any, path: str) -> None:
    assert direct_errors(body) == [f"{path}{TAKEN}"]


def test_other_labels_are_free() -> None:
    assert (
        direct_errors(made("RayJob", rayClusterSpec=ray(), submitterPodTemplate=template())) == []
    )


def test_labels_that_mutation_does_not_overwrite_are_refused_in_components() -> None:
    body = made(
        "RayJob",
        rayClusterSpec=ray(labels={OURS: "victim"}),
        submitterPodTemplate=template(labelled=True),
    )
    start = "spec.components[0].template.spec"
    assert errors_of(queued(component(body)), known=team_facts()) == [
        f"{start}.submitterPodTemplate.metadata.labels{TAKEN}",
        f"{start}.rayClusterSpec.headGroupSpec.labels{TAKEN}",
    ]
    assert errors_of(queued(component(body))) == []


def test_a_copy_of_what_is_stored_has_our_label_and_passes() -> None:
    """In the template of every pod set, where it is overwritten."""
    body = made("PyTorchJob", pytorchReplicaSpecs=ROLES)
    assert errors_of(queued(component(body)), known=team_facts()) == []
    stored = {**POD, "metadata": {"name": "p", "labels": {OURS: "copied"}}}
    assert errors_of(queued(component(stored)), known=team_facts()) == []


def test_a_pod_template_that_no_declared_pod_set_names_claims_nothing() -> None:
    roles = {"Launcher": {"template": template()}, "Worker": {"template": template(labelled=True)}}
    path = "template.spec.mpiReplicaSpecs"
    wrapped = component(
        made("MPIJob", mpiReplicaSpecs=roles), podSets=[{"path": f"{path}.Launcher.template"}]
    )
    assert errors_of(queued(wrapped), known=team_facts()) == [
        f"spec.components[0].{path}.Worker.template.metadata.labels{TAKEN}"
    ]
