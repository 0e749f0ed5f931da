from typing import Any

import pytest

from tests.support.builders.admission import POD, appwrapper, component, warnings_of

POD_TEMPLATE = {"spec": POD["spec"]}
CPU = {"requests": {"cpu": 1}}
NOT_COUNTED = "not counted against the quota"
HOSTS = f"workerGroupSpecs[0].numOfHosts: {NOT_COUNTED}: Kueue takes each replica for one pod"
BEYOND = "workers beyond replicas; write maxReplicas equal to replicas"
SCALING = f"enableInTreeAutoscaling: {NOT_COUNTED}: {BEYOND}"
SUBMITTER = f"submitterPodTemplate: {NOT_COUNTED}: Kueue does not see the pod that submits the job"
ELASTIC = f"elasticPolicy.metrics: {NOT_COUNTED}: {BEYOND}"


def cluster(group: Any, **fields: Any) -> dict[str, Any]:
    return {
        "headGroupSpec": {"template": POD_TEMPLATE},
        "workerGroupSpecs": [{"template": POD_TEMPLATE, **group}],
        **fields,
    }


def warned(api_version: str, kind: str, spec: Any) -> list[str]:
    template = {"apiVersion": api_version, "kind": kind, "spec": spec}
    start = "spec.components[0].template.spec."
    found = warnings_of(appwrapper(component(template)))
    assert all(text.startswith(start) for text in found)
    return [text.removeprefix(start) for text in found if NOT_COUNTED in text]


@pytest.mark.parametrize(
    ("group", "scaling", "says"),
    [
        ({"numOfHosts": 1}, False, []),
        ({"numOfHosts": 2}, False, [HOSTS]),
        ({"replicas": 0, "numOfHosts": 2}, False, []),
        ({"replicas": 2}, False, []),
        ({"replicas": 2, "maxReplicas": 2}, True, []),
        ({"replicas": 2, "maxReplicas": 3}, True, [SCALING]),
        ({"replicas": 2}, True, [SCALING]),
        ({"replicas": 2, "numOfHosts": 2}, True, [HOSTS, SCALING]),
    ],
)
def test_workers_of_ray(group: Any, scaling: bool, says: list[str]) -> None:
    spec = cluster(group, enableInTreeAutoscaling=scaling)
    assert warned("ray.io/v1", "RayCluster", spec) == says
    of_job = [f"rayClusterSpec.{text}" for text in says]
    assert warned("ray.io/v1", "RayJob", {"rayClusterSpec": spec}) == of_job


@pytest.mark.parametrize(
    ("resources", "says"), [(CPU, [SUBMITTER]), ({"limits": {"x": 1}}, [SUBMITTER]), ({}, [])]
)
def test_the_pod_that_submits_a_ray_job(resources: Any, says: list[str]) -> None:
    containers = [{"name": "c", "image": "i", "resources": resources}]
    spec = {
        "rayClusterSpec": cluster({"replicas": 1}),
        "submitterPodTemplate": {"spec": {"containers": containers}},
    }
    assert warned("ray.io/v1", "RayJob", spec) == says


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ({"maxReplicas": 5}, []),  # no autoscaler
        ({"maxReplicas": 5, "metrics": []}, []),
        ({"maxReplicas": 5, "metrics": [{}]}, [ELASTIC]),
        ({"maxReplicas": 4, "metrics": [{}]}, []),
        ({"metrics": [{}]}, []),
        ({"minReplicas": 5, "metrics": [{}]}, [ELASTIC]),
    ],
)
def test_workers_that_an_autoscaler_adds(policy: Any, says: list[str]) -> None:
    workers = {"Worker": {"replicas": 4, "template": POD_TEMPLATE}}
    spec = {"elasticPolicy": policy, "pytorchReplicaSpecs": workers}
    assert warned("kubeflow.org/v1", "PyTorchJob", spec) == says
