"""An object that the record of its Kind cannot read is refused, never counted as nothing."""

from typing import Any

import pytest

from shared.config.configuration import AllowedKinds
from tests.support.builders.admission import (
    appwrapper,
    component,
    direct_errors,
    errors_of,
    queued,
    team_facts,
)

PODS: dict[str, Any] = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
GPUS: dict[str, Any] = {
    "spec": {
        "containers": [
            {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
        ]
    }
}


def ray(kind: str, groups: int, version: str) -> dict[str, Any]:
    each = [{"groupName": f"g{index}", "replicas": 1, "template": GPUS} for index in range(groups)]
    cluster: dict[str, Any] = {"headGroupSpec": {"template": PODS}, "workerGroupSpecs": each}
    spec = cluster if kind == "RayCluster" else {"rayClusterSpec": cluster}
    return {"apiVersion": f"ray.io/{version}", "kind": kind, "spec": spec}


HEADS = {
    "RayCluster": "template.spec.headGroupSpec.template",
    "RayJob": "template.spec.rayClusterSpec.headGroupSpec.template",
}
TEMPLATE = "spec.components[0].template"


@pytest.mark.parametrize("groups", [1, 100, 101])
@pytest.mark.parametrize("kind", ["RayCluster", "RayJob"])
def test_an_unknown_version_of_a_known_kind_is_refused_whatever_is_declared(
    kind: str, groups: int
) -> None:
    """KubeRay runs `ray.io/v1alpha1` like `ray.io/v1`: 101 groups of 8 GPUs passed unseen."""
    attack = component(ray(kind, groups, "v1alpha1"), podSets=[{"path": HEADS[kind]}])
    error = f'{TEMPLATE}.apiVersion: Unsupported value: "ray.io/v1alpha1": use ray.io/v1'
    assert errors_of(queued(attack), known=team_facts()) == [error]
    assert errors_of(appwrapper(attack)) == [error]


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob"])
def test_more_worker_groups_than_are_read_are_refused_whatever_is_declared(kind: str) -> None:
    wrapped = component(ray(kind, 101, "v1"), podSets=[{"path": HEADS[kind]}])
    groups = HEADS[kind].removesuffix("headGroupSpec.template") + "workerGroupSpecs"
    assert errors_of(queued(wrapped), known=team_facts()) == [
        f"{TEMPLATE}: Invalid value: {groups} has 101 elements, but at most 100 are read"
    ]


def lws(**spec: Any) -> dict[str, Any]:
    group = {"size": 2, "workerTemplate": GPUS}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "spec": {"leaderWorkerTemplate": group, **spec},
    }


def mpi(launcher: Any, version: str = "v2beta1") -> dict[str, Any]:
    roles = {
        "Launcher": {"replicas": launcher, "template": GPUS},
        "Worker": {"replicas": 1, "template": GPUS},
    }
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": "MPIJob",
        "spec": {"mpiReplicaSpecs": roles},
    }


WORKERS = "template.spec.leaderWorkerTemplate.workerTemplate"
LAUNCHER = "template.spec.mpiReplicaSpecs.Launcher"


@pytest.mark.parametrize(
    ("body", "declared", "problem"),
    [
        (
            lws(replicas=-1),
            WORKERS,
            "template.spec.replicas is -1: it must be from 0 to 2147483647",
        ),
        (lws(replicas="2"), WORKERS, "template.spec.replicas must be an integer"),
        *(
            (
                mpi(-1, version),
                f"{LAUNCHER}.template",
                f"{LAUNCHER}.replicas is -1: it must be from 0 to 2147483647",
            )
            for version in ("v1", "v2beta1")
        ),
    ],
)
def test_declared_pod_sets_do_not_hide_an_impossible_count(
    body: dict[str, Any], declared: str, problem: str
) -> None:
    wrapped = component(body, podSets=[{"path": declared}])
    error = f"{TEMPLATE}: Invalid value: {problem}"
    assert errors_of(queued(wrapped), known=team_facts()) == [error]
    assert errors_of(appwrapper(wrapped)) == [error]


def test_the_other_mistakes_of_an_unreadable_component_are_shown_with_it() -> None:
    body = {**ray("RayCluster", 1, "v1alpha1"), "metadata": {"namespace": "other"}}
    allowed = AllowedKinds(wrapped=("Pod",))
    assert errors_of(appwrapper(component(), component(body)), allowed_kinds=allowed) == [
        'spec.components[1].template.apiVersion: Unsupported value: "ray.io/v1alpha1": use '
        "ray.io/v1",
        "spec.components[1].template.metadata.namespace: Forbidden: an AppWrapper in namespace "
        "team1 cannot create resources in another namespace",
        "spec.components[1].template: Forbidden: ray.io/RayCluster may not be wrapped; these Kinds "
        "may be wrapped: Pod",
    ]


def test_an_unreadable_component_does_not_count_as_without_pods() -> None:
    [only] = errors_of(appwrapper(component(ray("RayCluster", 1, "v1alpha1"))))
    assert only == f'{TEMPLATE}.apiVersion: Unsupported value: "ray.io/v1alpha1": use ray.io/v1'
    mpi_job = component(mpi(1, "v1alpha2"))
    assert errors_of(appwrapper(mpi_job)) == [
        f'{TEMPLATE}.apiVersion: Unsupported value: "kubeflow.org/v1alpha2": use kubeflow.org/v1 '
        "or kubeflow.org/v2beta1"
    ]


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob"])
def test_directly_created_objects_of_an_unknown_version_are_refused(kind: str) -> None:
    for groups in (1, 101):
        assert direct_errors(named(ray(kind, groups, "v1alpha1"))) == [
            'apiVersion: Unsupported value: "ray.io/v1alpha1": use ray.io/v1'
        ]


def test_directly_created_objects_with_a_count_of_another_type_are_refused() -> None:
    body = named(ray("RayCluster", 1, "v1"))
    body["spec"]["workerGroupSpecs"][0]["numOfHosts"] = "2"
    assert direct_errors(body) == ["spec.workerGroupSpecs[0].numOfHosts must be an integer"]


def test_a_job_on_an_existing_cluster_needs_no_pod_template() -> None:
    spec = {"clusterSelector": {"ray.io/cluster": "c"}, "shutdownAfterJobFinishes": True}
    body = {"apiVersion": "ray.io/v1", "kind": "RayJob", "spec": spec}
    assert direct_errors(named(body)) == []


def named(body: dict[str, Any]) -> dict[str, Any]:
    body["spec"].setdefault("shutdownAfterJobFinishes", True)
    return {**body, "metadata": {"name": "job"}}
