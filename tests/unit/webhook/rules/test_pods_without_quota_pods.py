"""Pods that an operator makes for certain, although no pod set counts them."""

from typing import Any

import pytest

from tests.support.builders.admission import POD, appwrapper, component, errors_of

POD_TEMPLATE = {"spec": POD["spec"]}
GROUP = "template.spec.workerGroupSpecs[0]"


def ray(kind: str, group: Any, version: str = "ray.io/v1") -> dict[str, Any]:
    cluster = {
        "headGroupSpec": {"template": POD_TEMPLATE},
        "workerGroupSpecs": [{"template": POD_TEMPLATE, **group}],
    }
    spec = cluster if kind == "RayCluster" else {"rayClusterSpec": cluster}
    return {"apiVersion": version, "kind": kind, "spec": spec}


def roles(kind: str, *names: str, version: str = "kubeflow.org/v1") -> dict[str, Any]:
    field = {"PyTorchJob": "pytorchReplicaSpecs", "MPIJob": "mpiReplicaSpecs"}[kind]
    specs = {name: {"replicas": 4, "template": POD_TEMPLATE} for name in names}
    return {"apiVersion": version, "kind": kind, "spec": {field: specs}}


@pytest.mark.parametrize(
    ("kind", "path"),
    [("RayCluster", GROUP), ("RayJob", GROUP.replace("spec", "spec.rayClusterSpec", 1))],
)
def test_ray_may_not_make_more_workers_than_are_counted(kind: str, path: str) -> None:
    few = ray(kind, {"replicas": 2, "minReplicas": 5, "maxReplicas": 9})
    detail = (
        "KubeRay creates at least this many workers, but quota is reserved for 2: write as many "
        "replicas, or a lower minReplicas"
    )
    assert errors_of(appwrapper(component(few))) == [
        f"spec.components[0].{path}.minReplicas: Invalid value: 5: {detail}"
    ]


@pytest.mark.parametrize(
    ("group", "counted"),
    [
        ({"minReplicas": 1}, True),  # replicas absent are one to Kueue
        ({"minReplicas": 2}, False),
        ({"replicas": 0, "minReplicas": 0}, True),
        ({"replicas": 0, "minReplicas": 1}, False),
        ({"replicas": 3, "minReplicas": 3}, True),
        ({"replicas": 3, "minReplicas": 4}, False),
        ({"replicas": 3, "minReplicas": 4, "maxReplicas": 3}, False),  # KubeRay refuses it, too
        ({"replicas": 3, "minReplicas": None}, True),
    ],
)
def test_the_least_number_of_workers_against_the_counted_ones(group: Any, counted: bool) -> None:
    assert (errors_of(appwrapper(component(ray("RayCluster", group)))) == []) is counted


def test_a_role_that_only_the_operator_knows_is_refused() -> None:
    """The Training Operator takes `worker` for `Worker`, and Kueue does not."""
    for kind, known, field in (
        ("PyTorchJob", "Master", "pytorchReplicaSpecs"),
        ("MPIJob", "Launcher", "mpiReplicaSpecs"),
    ):
        declared = [{"path": f"template.spec.{field}.{known}.template", "replicas": 4}]
        wrapped = component(roles(kind, known, "worker"), podSets=declared)
        assert errors_of(appwrapper(wrapped)) == [
            f'spec.components[0].template.spec.{field}: Unsupported value: "worker": '
            f'write "Worker" (replica types are case-sensitive; Kueue counts only {known} and '
            "Worker)"
        ]


def test_a_role_that_is_written_wrong_is_the_only_error() -> None:
    refused = "spec.components[0].template.spec.pytorchReplicaSpecs: Unsupported value"
    assert errors_of(appwrapper(component(roles("PyTorchJob", "master")))) == [
        f'{refused}: "master": write "Master" (replica types are case-sensitive; Kueue counts only '
        "Master and Worker)"
    ]
    assert errors_of(appwrapper(component(roles("PyTorchJob", "Chief")))) == [
        f'{refused}: "Chief": unknown replica type: Kueue counts only Master and Worker'
    ]


def test_a_role_that_is_declared_is_counted() -> None:
    path = "template.spec.mpiReplicaSpecs.worker.template"
    wrapped = component(roles("MPIJob", "worker"), podSets=[{"path": path, "replicas": 4}])
    assert errors_of(appwrapper(wrapped)) == []


def test_both_roles_are_counted() -> None:
    assert errors_of(appwrapper(component(roles("PyTorchJob", "Worker", "Master")))) == []


def test_roles_that_are_no_object_are_refused() -> None:
    odd = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob"}
    wrapped = component({**odd, "spec": {"pytorchReplicaSpecs": ["worker"]}})
    assert errors_of(appwrapper(component(), wrapped)) == [
        "spec.components[1].template: Invalid value: template.spec.pytorchReplicaSpecs is an "
        "array, not an object"
    ]
