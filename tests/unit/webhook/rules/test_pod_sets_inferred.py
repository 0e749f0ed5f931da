from typing import Any

import jsonpatch
import pytest

from tests.support.builders.admission import POD, appwrapper, component, patch_of

POD_TEMPLATE = {"spec": POD["spec"]}
GROUP = "template.spec.leaderWorkerTemplate"
ROLES = "template.spec.mpiReplicaSpecs"
INFERRED = [
    {"path": f"{GROUP}.leaderTemplate", "replicas": 2},
    {"path": f"{GROUP}.workerTemplate", "replicas": 4},
]
LWS: dict[str, Any] = {
    "apiVersion": "leaderworkerset.x-k8s.io/v1",
    "kind": "LeaderWorkerSet",
    "spec": {
        "replicas": 2,
        "leaderWorkerTemplate": {
            "size": 3,
            "leaderTemplate": POD_TEMPLATE,
            "workerTemplate": POD_TEMPLATE,
        },
    },
}
MPI: dict[str, Any] = {
    "apiVersion": "kubeflow.org/v2beta1",
    "kind": "MPIJob",
    "spec": {
        "mpiReplicaSpecs": {
            "Worker": {"replicas": 4, "template": POD_TEMPLATE},
            "Launcher": {"template": POD_TEMPLATE},
        }
    },
}


def pod_sets_of(*components: Any) -> list[Any]:
    submitted = appwrapper(*components)
    made = jsonpatch.apply_patch(submitted, patch_of(submitted))
    return [each.get("podSets") for each in made["spec"]["components"]]


@pytest.mark.parametrize("absent", [{}, {"podSets": None}, {"podSets": []}])
def test_pod_sets_that_kueue_cannot_infer_are_written(absent: dict[str, Any]) -> None:
    assert pod_sets_of(component(), component(LWS, **absent), component(MPI, **absent)) == [
        None,
        INFERRED,
        [
            {"path": f"{ROLES}.Launcher.template", "replicas": 1},
            {"path": f"{ROLES}.Worker.template", "replicas": 4},
        ],
    ]


def test_a_users_own_declaration_stands() -> None:
    declared = [{"path": f"{GROUP}.workerTemplate", "replicas": 6}]
    assert pod_sets_of(component(LWS, podSets=declared)) == [declared]


@pytest.mark.parametrize(
    "template",
    [
        {**LWS, "spec": {}},
        {**LWS, "spec": {"leaderWorkerTemplate": {"size": "x", "workerTemplate": POD_TEMPLATE}}},
        {**MPI, "spec": {"mpiReplicaSpecs": {}}},
        {**MPI, "apiVersion": "kubeflow.org/v1alpha2"},
    ],
)
def test_pod_sets_that_cannot_be_determined_are_left_to_validation(
    template: dict[str, Any],
) -> None:
    assert pod_sets_of(component(template)) == [None]
