"""Warnings that something restarts what failed before exit-code annotations can apply."""

from typing import Any

import pytest

from tests.support.builders.admission import POD, annotated, appwrapper, component, warnings_of
from tests.support.builders.annotations import prefixed

LATE = "so terminalExitCodes may never apply: write"
IN_POD = f"restarts a failed container first, {LATE} Never"
BY_JOB = f"lets the Job replace failed pods first, {LATE} 0"
HERE = "spec.components[0].template"


def pod_spec(policy: str | None) -> dict[str, Any]:
    return {**POD["spec"], **({} if policy is None else {"restartPolicy": policy})}


def pod(policy: str | None) -> dict[str, Any]:
    return {**POD, "spec": pod_spec(policy)}


def job(policy: str | None = "Never", **spec: Any) -> dict[str, Any]:
    whole = {"template": {"spec": pod_spec(policy)}, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": whole}


def job_set(policy: str | None, **spec: Any) -> dict[str, Any]:
    jobs = [{"name": "a", "template": {"spec": job(policy, **spec)["spec"]}}]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "s"},
        "spec": {"replicatedJobs": jobs},
    }


def restarted(made: dict[str, Any], times: int, **policy: str) -> dict[str, Any]:
    policies = {"failurePolicy": {"maxRestarts": times, **policy}}
    return {**made, "spec": {**made["spec"], **policies}}


def replicated(
    kind: str, field: str, role: str, policy: str | None, version: str = "v1", **spec: Any
) -> dict[str, Any]:
    """Its pod template names another policy, which its operator overwrites."""
    replicas: dict[str, Any] = {"replicas": 1, "template": {"spec": pod_spec("Always")}}
    if policy is not None:
        replicas["restartPolicy"] = policy
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": kind,
        "metadata": {"name": "t"},
        "spec": {field: {role: replicas}, **spec},
    }


def training(policy: str | None) -> dict[str, Any]:
    return replicated("PyTorchJob", "pytorchReplicaSpecs", "Master", policy)


def mpi(policy: str | None, version: str = "v1", **run_policy: Any) -> dict[str, Any]:
    spec = {"runPolicy": run_policy} if run_policy else {}
    return replicated("MPIJob", "mpiReplicaSpecs", "Launcher", policy, version, **spec)


def ray_job(policy: str | None = "Never", **spec: Any) -> dict[str, Any]:
    head = {"template": {"spec": pod_spec(policy)}, "rayStartParams": {}}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": "r"},
        "spec": {"rayClusterSpec": {"headGroupSpec": head}, **spec},
    }


MASTER = f"{HERE}.spec.pytorchReplicaSpecs.Master.restartPolicy"
LAUNCHER = f"{HERE}.spec.mpiReplicaSpecs.Launcher.restartPolicy"
OF_JOB = f"{HERE}.spec.template.spec.restartPolicy"
LIMIT = f"{HERE}.spec.backoffLimit"
OF_LAUNCHER_JOB = f"{HERE}.spec.runPolicy.backoffLimit"
OF_HEAD = f"{HERE}.spec.rayClusterSpec.headGroupSpec.template.spec.restartPolicy"
OF_JOB_SET = f"{HERE}.spec.replicatedJobs[0].template.spec"


@pytest.mark.parametrize(
    ("template", "says"),
    [
        (pod("OnFailure"), [f"{HERE}.spec.restartPolicy: OnFailure {IN_POD}"]),
        (pod(None), [f"{HERE}.spec.restartPolicy: absent means Always, which {IN_POD}"]),
        (pod("Never"), []),
        (job(backoffLimit=0), []),
        (job(), [f"{LIMIT}: absent means 6, which {BY_JOB}"]),
        (job(backoffLimit=None), [f"{LIMIT}: absent means 6, which {BY_JOB}"]),
        (job(backoffLimit=3), [f"{LIMIT}: 3 {BY_JOB}"]),
        (job(backoffLimit="3"), []),
        (job(backoffLimit=3, podFailurePolicy={"rules": [{"action": "FailJob"}]}), []),
        (job(backoffLimitPerIndex=0), []),
        (job("OnFailure", backoffLimit=0), [f"{OF_JOB}: OnFailure {IN_POD}"]),
        (
            job_set(None),
            [
                f"{OF_JOB_SET}.template.spec.restartPolicy: absent means OnFailure, which {IN_POD}",
                f"{OF_JOB_SET}.backoffLimit: absent means 6, which {BY_JOB}",
            ],
        ),
        (job_set("Never", backoffLimit=0), []),
        (
            restarted(job_set("Never", backoffLimit=0), 3),
            [
                f"{HERE}.spec.failurePolicy.maxRestarts: 3 lets the JobSet retry first, {LATE} 0",
            ],
        ),
        (
            restarted(
                job_set("Never", backoffLimit=2**31 - 1), 3, restartStrategy="InPlaceRestart"
            ),
            [
                f"{HERE}.spec.failurePolicy.maxRestarts: 3 lets the JobSet retry first, {LATE} 0",
            ],
        ),
        (
            restarted(job_set("Never", backoffLimit=1), 0, restartStrategy="Recreate"),
            [f"{OF_JOB_SET}.backoffLimit: 1 {BY_JOB}"],
        ),
        (training("OnFailure"), [f"{MASTER}: OnFailure {IN_POD}"]),
        (training(None), [f"{MASTER}: absent means OnFailure, which {IN_POD}"]),
        (training("ExitCode"), [f"{MASTER}: ExitCode restarts a failed pod first, {LATE} Never"]),
        (training("Never"), []),
        (mpi("OnFailure"), [f"{LAUNCHER}: OnFailure {IN_POD}"]),
        (mpi(None), []),
        (
            mpi(None, "v2beta1"),
            [
                f"{LAUNCHER}: absent means OnFailure, which {IN_POD}",
                f"{OF_LAUNCHER_JOB}: absent means 6, which lets the MPIJob retry first, {LATE} 0",
            ],
        ),
        (mpi("Never", "v2beta1", backoffLimit=0), []),
        (ray_job(), []),
        (ray_job(None), [f"{OF_HEAD}: absent means Always, which {IN_POD}"]),
        (
            ray_job(backoffLimit=2),
            [f"{HERE}.spec.backoffLimit: 2 lets the RayJob retry first, {LATE} 0"],
        ),
    ],
)
def test_a_restart_before_the_annotation_applies_is_warned_of(
    template: dict[str, Any], says: list[str]
) -> None:
    made = component(template)
    if template["kind"] == "MPIJob":  # the webhook's mutation declares them
        made["podSets"] = [{"path": "template.spec.mpiReplicaSpecs.Launcher.template"}]
    assert warnings_of(annotated(made, terminalExitCodes="42")) == says
    assert [each for each in warnings_of(appwrapper(made)) if "restart" in each] == []


def test_both_annotations_are_named() -> None:
    made = annotated(component(pod("Always")), terminalExitCodes="42", retryableExitCodes="3")
    assert warnings_of(made) == [
        f"{HERE}.spec.restartPolicy: Always restarts a failed container first, so "
        "terminalExitCodes and retryableExitCodes may never apply: write Never"
    ]


def test_helpers_do_not_count() -> None:
    made = component(job("OnFailure"), annotations=prefixed(helper="true"))
    assert warnings_of(annotated(made, component(pod("Never")), terminalExitCodes="42")) == []


def test_an_update_warns_of_what_it_changes() -> None:
    old = appwrapper(component(pod("OnFailure")))
    new = annotated(component(pod("OnFailure")), terminalExitCodes="42")
    assert warnings_of(new, old=old) == [f"{HERE}.spec.restartPolicy: OnFailure {IN_POD}"]
    assert warnings_of(new, old=new) == []
