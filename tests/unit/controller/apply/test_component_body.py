"""What is created for a component: all of its pods are prepared, and its spec stays as it was."""

from datetime import timedelta
from typing import Any

import orjson
import pytest

from controller.apply.component_body import Additions, component_body, with_runtime_jobs
from controller.facts.recorder_environment import Recording
from shared.api.appwrapper import AppWrapper
from shared.api.names import ANNOTATION_RUNTIME_JOBS
from shared.api.objects import JsonObject
from shared.injection.avoided_hosts import AvoidedHosts
from shared.injection.pod_template import PodDefaults
from shared.kinds.kind import template_at
from shared.kinds.table import component_pod_sets
from shared.kinds.train_job import jobs_of
from tests.support.builders import wrapped_kinds
from tests.support.builders.operated_kinds import runtime_job, train_job, training_runtime

ADDITIONS = Additions(
    AvoidedHosts(unwanted=("host-1",)),
    Recording(strategy="earliest", attempt=2),
    timedelta(minutes=10),
)
KINDS = {
    "Pod": wrapped_kinds.pod(),
    "JobSet": wrapped_kinds.JOB_SET,
    "LeaderWorkerSet": wrapped_kinds.LEADER_WORKER_SET,
    "MPIJob": wrapped_kinds.mpi_job("v2beta1"),
    "RayCluster": wrapped_kinds.kind("ray.io/v1", "RayCluster", **wrapped_kinds.ray()),
}
GROUP, ROLES = wrapped_kinds.GROUP, wrapped_kinds.MPI_ROLES
DECLARED = {
    "LeaderWorkerSet": (f"{GROUP}.leaderTemplate", f"{GROUP}.workerTemplate"),
    "MPIJob": (f"{ROLES}.Launcher.template", f"{ROLES}.Worker.template"),
}


def body_of(component: JsonObject) -> tuple[AppWrapper, JsonObject]:
    appwrapper = AppWrapper(
        {
            "metadata": {"namespace": "team1", "name": "train", "uid": "u1"},
            "spec": {"components": [component]},
            "status": {"attempt": 2, "componentStatus": [{"name": "injected"}]},
        }
    )
    text = orjson.dumps(component)
    return appwrapper, component_body(appwrapper, 0, text, PodDefaults(), ADDITIONS)


SLOW: JsonObject = {"containers": [{"name": "main"}], "terminationGracePeriodSeconds": 86000}
RAY_JOB = wrapped_kinds.kind(
    "ray.io/v1",
    "RayJob",
    rayClusterSpec={"headGroupSpec": {"template": {"spec": SLOW}}},
    submitterPodTemplate={"spec": SLOW},
)
PYTORCH_JOB = wrapped_kinds.kind(
    "kubeflow.org/v1",
    "PyTorchJob",
    pytorchReplicaSpecs={
        role: {"template": {"spec": SLOW}} for role in ("Master", "Worker", "worker")
    },
)


@pytest.mark.parametrize(
    ("template", "paths"),
    [
        (RAY_JOB, ("rayClusterSpec.headGroupSpec.template", "submitterPodTemplate")),
        (
            PYTORCH_JOB,
            tuple(
                f"pytorchReplicaSpecs.{role}.template" for role in ("Master", "Worker", "worker")
            ),
        ),
        (RAY_JOB | {"apiVersion": "ray.io/v9"}, ("submitterPodTemplate",)),
    ],
)
def test_pods_without_a_pod_set_get_no_longer_grace_period_either(
    template: JsonObject, paths: tuple[str, ...]
) -> None:
    _appwrapper, body = body_of({"template": template})
    for path in paths:
        spec = template_at(body, f"template.spec.{path}")["spec"]
        assert spec["terminationGracePeriodSeconds"] == 600


@pytest.mark.parametrize("name", KINDS)
def test_every_pod_template_is_prepared_and_the_spec_stays_as_kueue_knows_it(name: str) -> None:
    component: JsonObject = {"template": KINDS[name]}
    if paths := DECLARED.get(name):
        component["podSets"] = [{"path": path, "replicas": 1} for path in paths]
    before = orjson.dumps(component)
    appwrapper, body = body_of(component)
    assert orjson.dumps(appwrapper.components[0]) == before
    pod_sets = component_pod_sets(component)
    assert pod_sets
    for pod_set in pod_sets:
        spec: Any = template_at(body, pod_set.path)["spec"]
        for container in spec["containers"]:
            assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"
            assert {"name": "AW_ATTEMPT", "value": "2"} in container["env"]
        assert "affinity" in spec


RUNTIME = training_runtime("t", runtime_job("node", step="trainer"), nodes=3)


def test_a_train_job_is_annotated_with_the_jobs_of_its_runtime() -> None:
    body = train_job("t")
    body["metadata"]["annotations"] = {"a": "b", ANNOTATION_RUNTIME_JOBS: "forged"}
    with_runtime_jobs(body, orjson.dumps({"template": RUNTIME}))
    jobs = '{"jobs":[{"name":"node","replicas":1,"pods":3}]}'
    assert jobs == jobs_of(RUNTIME)
    assert body["metadata"]["annotations"] == {"a": "b", ANNOTATION_RUNTIME_JOBS: jobs}


@pytest.mark.parametrize("before", [b"", orjson.dumps({"template": wrapped_kinds.pod()})])
def test_one_without_a_runtime_is_not_annotated(before: bytes) -> None:
    body = train_job("t")
    with_runtime_jobs(body, before)
    assert body == train_job("t")


def test_no_other_kind_is_annotated() -> None:
    body = wrapped_kinds.pod()
    with_runtime_jobs(body, orjson.dumps({"template": RUNTIME}))
    assert body == wrapped_kinds.pod()
