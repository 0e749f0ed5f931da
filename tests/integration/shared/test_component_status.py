"""What components say of themselves, as real JobSet and KubeRay operators say it."""

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
import pytest_asyncio

from localcluster.access.running import RunningCluster
from localcluster.machine.slowness import stretched
from shared.api.conditions import is_true
from shared.api.names import LABEL_UID
from shared.api.objects import APPWRAPPERS, PODS, JsonObject, Resource
from shared.api.times import format_time
from shared.kube.client import PatchType
from shared.process.clock import SystemClock
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, true_conditions, version_of
from tests.support.builders.jobs import job, scaled
from tests.support.builders.operated_kinds import job_set, made_by, ray_cluster, ray_job
from tests.support.builders.pods import pod_template
from tests.support.cluster.deletion_blockers import blocked, set_finalizers
from tests.support.cluster.frozen import is_frozen
from tests.support.cluster.life import Life, exists, listed
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.cluster.resources import (
    DEPLOYMENTS,
    JOB_SETS,
    JOBS,
    RAY_CLUSTERS,
    RAY_JOBS,
    RESOURCE_QUOTAS,
    STATEFUL_SETS,
)
from tests.support.cluster.stages import IMPATIENT, LONG, NOW, waits_for_no_pod
from tests.support.life_record import DEPLOYED, QUOTA, READY, UNHEALTHY, Condition, condition
from tests.support.patience import comes_to


@pytest_asyncio.fixture(loop_scope="session")
async def lives(operators: RunningCluster, operators_team: None) -> AsyncIterator[Lives]:
    """Each test's own AppWrappers."""
    async with AsyncExitStack() as stack:
        yield Lives(operators, stack)


RUNS = {QUOTA, DEPLOYED, READY}
TO_SUCCESS = ["", "Suspended", "Resuming", "Running", "Succeeded"]
RUNNING_ON = TO_SUCCESS[:-1]
# No failed pod leads to a reset while a test runs: what does is a component's own word.
PATIENT = {"failureGracePeriodDuration": "1h", "retryPausePeriodDuration": "0s"}
HELPER = {"workload.codeflare.dev.appwrapper/helper": "true"}


async def ready(life: Life, *, after: int = 0) -> JsonObject:
    return await life.until(
        lambda item: version_of(item) > after and true_conditions(item) == RUNS, "all pods ready"
    )


async def says(lives: Lives, resource: Resource, name: str, **status: Any) -> None:
    """Its operator's next word, where the operator has no means to find it out."""
    await lives.client.patch(
        resource, NAMESPACE, name, {"status": status}, PatchType.MERGE, subresource="status"
    )


async def status_of(lives: Lives, resource: Resource, name: str) -> JsonObject:
    return (await lives.client.get(resource, NAMESPACE, name)).get("status") or {}


async def gone(lives: Lives, life: Life, pods: list[str]) -> None:
    async def left() -> set[str]:
        return {*pods} & {*await lives.names(PODS, life)}

    await comes_to(left, set())


async def ready_again(lives: Lives, life: Life, pods: int) -> None:
    """A late controller may have missed that one was away: then it has written nothing."""
    label = f"{LABEL_UID}={life.events[0].object['metadata']['uid']}"

    async def running() -> tuple[list[str], set[str]]:
        found = await listed(lives.client, PODS, NAMESPACE, label)
        phases = [each["status"]["phase"] for each in found]
        return phases, true_conditions(life.events[-1].object)

    await comes_to(running, (["Running"] * pods, RUNS))


async def test_a_job_set_that_completed_has_succeeded(lives: Lives) -> None:
    jobs = {"short": pod_template(run_for="300ms"), "long": pod_template(run_for="1s")}
    life = await lives.begin(appwrapper("set-completes", job_set("set-completes", **jobs)))
    done = await life.until_phase("Succeeded")
    assert life.phases() == TO_SUCCESS
    assert true_conditions(done) == {DEPLOYED, READY}
    assert (await status_of(lives, JOB_SETS, "set-completes"))["terminalState"] == "Completed"
    await life.check_the_promise_to_kueue()


async def test_a_job_set_that_gave_up_is_reset_at_once_and_failed_in_the_end(lives: Lives) -> None:
    """The pods that it ends then, by SIGTERM, do not speak against another attempt."""
    jobs = {"bad": pod_template(run_for="2s", exit_code="3"), "good": pod_template(hang="running")}
    limits = PATIENT | {"retryLimit": "1", "retryableExitCodes": "3"}
    body = appwrapper("set-fails", job_set("set-fails", **jobs), annotations=limits)
    life = await lives.begin(body)
    failed = await life.until_phase("Failed")
    assert life.phases() == [*RUNNING_ON, "Resetting", "Resuming", "Running", "Failed"]
    assert failed["status"]["resettingCount"] == 1
    unhealthy = condition(failed, UNHEALTHY)
    assert (unhealthy.status, unhealthy.reason) == ("True", "FailedComponent")
    assert re.fullmatch(
        r"retries exhausted \(1 of 1\): "
        r"JobSet set-fails: FailedJobs: jobset failed due to one or more job failures "
        r"\(first failed job: set-fails-bad-0\); "
        r"1 failed pod: set-fails-bad-0-0-\w{5} on gpu-node-\d+ \(exit code 3\)",
        unhealthy.message,
    )


async def test_a_job_set_that_restarts_its_jobs_has_not_failed(lives: Lives) -> None:
    policies = {"failurePolicy": {"maxRestarts": 3}}
    jobs = {"one": pod_template(hang="running"), "two": pod_template(hang="running")}
    body = job_set("set-restarts", policies=policies, **jobs)
    life = await lives.begin(appwrapper("set-restarts", body, annotations=PATIENT))
    await ready(life)
    names = await lives.names(PODS, life)
    await lives.patch_pod(names[0], {"phase": "Failed"})

    async def restarts() -> int:
        return int((await status_of(lives, JOB_SETS, "set-restarts")).get("restarts", 0))

    await comes_to(restarts, 1)
    await gone(lives, life, names)
    await ready_again(lives, life, 2)
    assert life.phases() == RUNNING_ON


async def test_a_job_that_waits_is_not_missed_nor_a_pod_that_succeeded(lives: Lives) -> None:
    body = job_set("set-waits", **dict.fromkeys(("driver", "work"), pod_template(hang="running")))
    body["spec"]["replicatedJobs"][1]["dependsOn"] = [{"name": "driver", "status": "Complete"}]
    life = await lives.begin(appwrapper("set-waits", body, annotations=LONG | IMPATIENT))
    await waits_for_no_pod(life)
    [driver] = await lives.names(PODS, life)
    await lives.patch_pod(driver, {"phase": "Succeeded"})
    await ready(life)
    [_, worker] = await lives.names(PODS, life)
    await lives.annotate("set-waits", **NOW)
    await lives.delete(PODS, driver)  # somebody cleans up
    await lives.patch_pod(worker, {"phase": "Succeeded"})
    await life.until_phase("Succeeded")
    assert life.phases() == TO_SUCCESS


async def test_pods_that_outlive_a_job_set_are_removed(lives: Lives) -> None:
    """JobSet, which would end them itself, leaves it to another operator: to this test."""
    jobs = {"driver": pod_template(hang="running"), "workers": pod_template(hang="running")}
    body = job_set("set-outlived", policies={"managedBy": "example.com/nobody"}, **jobs)
    life = await lives.begin(appwrapper("set-outlived", body, annotations=AT_ONCE))
    await comes_to(lambda: exists(lives.client, JOB_SETS, NAMESPACE, "set-outlived"), True)
    made = await lives.client.get(JOB_SETS, NAMESPACE, "set-outlived")
    for each in made["spec"]["replicatedJobs"]:
        each["template"].setdefault("metadata", {})["name"] = f"set-outlived-{each['name']}-0"
        await lives.client.create(JOBS, NAMESPACE, made_by(made, JOBS, each["template"]))
    await ready(life)
    completed = {"type": "Completed", "status": "True", "reason": "AllJobsCompleted"}
    completed |= {"message": "all done", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    await says(lives, JOB_SETS, "set-outlived", conditions=[completed])
    done = await life.until_phase("Succeeded")
    assert life.phases() == TO_SUCCESS
    assert QUOTA not in true_conditions(done)
    message = "2 pods outlived their component"
    assert message in await lives.event_messages("set-outlived", "StragglersRemoved", until=message)
    await life.check_the_promise_to_kueue()


@pytest.mark.long
async def test_a_ray_cluster_runs_and_its_operator_replaces_its_pods(lives: Lives) -> None:
    body = appwrapper("ray", ray_cluster("ray", workers=2), annotations=PATIENT)
    life = await lives.begin(body)
    await ready(life)
    names = await lives.names(PODS, life)
    assert len(names) == 3
    worker = next(name for name in names if "worker" in name)
    await lives.patch_pod(worker, {"phase": "Failed"})
    await gone(lives, life, [worker])
    await ready_again(lives, life, 3)
    assert life.phases() == RUNNING_ON
    await lives.delete(RAY_CLUSTERS, "ray")
    failed = await life.until_phase("Failed")
    assert condition(failed, UNHEALTHY).reason == "MissingComponent"


@pytest.mark.long
async def test_a_ray_cluster_that_kuberay_rejects_fails_at_once(lives: Lives) -> None:
    """KubeRay reports it in an Event alone: the status stays empty, and no pod ever comes."""
    name = "r" * 54
    life = await lives.begin(appwrapper("rejected", ray_cluster(name), annotations=LONG))
    failed = await life.until_phase("Failed")
    assert condition(failed, UNHEALTHY).reason == "FailedComponent"
    assert condition(failed, UNHEALTHY).message == (
        f"no retry: the operator rejects the component; RayCluster {name}: "
        f"InvalidRayClusterMetadata: The RayCluster metadata is invalid {NAMESPACE}/{name}: "
        "RayCluster name should be no more than 53 characters"
    )
    assert life.phases() == [*RUNNING_ON, "Failed"]


@pytest.mark.long
async def test_a_suspended_redis_cleanup_blocks_until_its_finalizer_goes(lives: Lives) -> None:
    body = ray_cluster("ft")
    body["spec"]["gcsFaultToleranceOptions"] = {"redisAddress": "redis:6379"}
    # In this time Kueue suspends the cleanup Job. A pod that is forced before lets the Job fail.
    soon = {"forcefulDeletionGracePeriodDuration": f"{round(stretched(10))}s"}
    life = await lives.begin(appwrapper("ft", body, annotations=soon))
    await ready(life)
    await lives.delete(APPWRAPPERS, "ft")
    waits = "waits for Job ft-redis-cleanup (suspended by Kueue: see appwrapper explain)"
    finalizer = "has the finalizer ray.io/gcs-ft-redis-cleanup-finalizer"
    await blocked(life, f"RayCluster ft {finalizer}; RayCluster ft {waits}", more=True)  # Services
    await set_finalizers(lives.client, RAY_CLUSTERS, "ft")
    await life.until_deleted()


async def ray_job_runs(lives: Lives, name: str, limits: dict[str, str], **spec: Any) -> Life:
    """Its cluster is there; that its head does not answer, its operator takes for a delay."""
    body = appwrapper(name, ray_job(name, **spec), annotations=limits)
    life = await lives.begin(body)
    await ready(life)

    async def deployment() -> str:
        return str((await status_of(lives, RAY_JOBS, name)).get("jobDeploymentStatus"))

    await comes_to(deployment, "Running")
    return life


async def ends(lives: Lives, name: str, outcome: str, deployment: str, **words: str) -> None:
    """Its head told its operator so."""
    now = format_time(SystemClock().now())
    state = {"jobStatus": outcome, "jobDeploymentStatus": deployment, "endTime": now}
    await says(lives, RAY_JOBS, name, **state, **words)


@pytest.mark.long
async def test_a_ray_job_whose_operator_removes_its_cluster_has_succeeded(lives: Lives) -> None:
    life = await ray_job_runs(lives, "ray-tidy", PATIENT, ttlSecondsAfterFinished=0)
    await ends(lives, "ray-tidy", "SUCCEEDED", "Complete")
    done = await life.until_phase("Succeeded")
    assert life.phases() == TO_SUCCESS
    assert true_conditions(done) == {DEPLOYED, READY}
    assert await exists(lives.client, RAY_JOBS, NAMESPACE, "ray-tidy")
    await life.check_the_promise_to_kueue()


@pytest.mark.long
async def test_the_pods_of_a_ray_job_that_outlive_it_are_removed(lives: Lives) -> None:
    """Its operator would leave them for an hour more, as the RayJob asks for."""
    life = await ray_job_runs(lives, "ray-stays", AT_ONCE)
    await ends(lives, "ray-stays", "SUCCEEDED", "Complete")
    done = await life.until_phase("Succeeded")
    assert life.phases() == TO_SUCCESS
    assert QUOTA not in true_conditions(done)
    await comes_to(lambda: lives.names(PODS, life), [])
    outlived = "2 pods outlived their component"
    assert outlived in await lives.event_messages("ray-stays", "StragglersRemoved", until=outlived)
    await life.check_the_promise_to_kueue()


@pytest.mark.long
async def test_a_ray_job_that_failed_is_reset_at_once(lives: Lives) -> None:
    life = await ray_job_runs(lives, "ray-fails", PATIENT | {"retryLimit": "1"})
    words = {"reason": "AppFailed", "message": "no such file"}
    await ends(lives, "ray-fails", "FAILED", "Failed", **words)
    resetting = await life.until_phase("Resetting")
    assert condition(resetting, UNHEALTHY) == Condition(
        "True", "FailedComponent", "RayJob ray-fails: AppFailed: no such file: job FAILED"
    )
    again = await ready(life, after=version_of(resetting))
    assert (again["status"]["attempt"], again["status"]["resettingCount"]) == (2, 1)


@pytest.mark.long
async def test_a_ray_job_that_its_operator_tries_again_has_not_failed(lives: Lives) -> None:
    life = await ray_job_runs(lives, "ray-retries", PATIENT, backoffLimit=2)
    before = await status_of(lives, RAY_JOBS, "ray-retries")
    pods = await lives.names(PODS, life)
    failed = {"jobStatus": "FAILED", "jobDeploymentStatus": "Retrying", "failed": 1}
    await says(lives, RAY_JOBS, "ray-retries", reason="AppFailed", message="no", **failed)

    async def on_a_new_cluster() -> tuple[str, bool]:
        status = await status_of(lives, RAY_JOBS, "ray-retries")
        is_new = status.get("rayClusterName") not in ("", None, before["rayClusterName"])
        return str(status.get("jobDeploymentStatus")), is_new

    await comes_to(on_a_new_cluster, ("Running", True))
    await gone(lives, life, pods)
    assert life.phases() == RUNNING_ON


@pytest.mark.long
async def test_a_ray_job_that_its_operator_refuses_has_failed(lives: Lives) -> None:
    """KubeRay refuses each attempt for the same reason, so no retry is spent."""
    body = ray_job("ray-refused", backoffLimit=2, submissionMode="InteractiveMode")
    limit = PATIENT | {"retryLimit": "2"}
    life = await lives.begin(appwrapper("ray-refused", body, annotations=limit))
    failed = await life.until_phase("Failed")
    assert condition(failed, UNHEALTHY) == Condition(
        "True",
        "FailedComponent",
        "no retry: the operator rejects the component; RayJob ray-refused: ValidationFailed: "
        "The RayJob spec is invalid: BackoffLimit is incompatible with InteractiveMode",
    )
    assert "Resetting" not in life.phases()


def _job_has_ended(item: JsonObject) -> bool:
    """Status says so of its first component."""
    first, *_ = (item.get("status") or {}).get("componentStatus") or [{}]
    return is_true(first.get("conditions") or (), "Succeeded")


async def test_a_deployment_keeps_running_after_the_job_beside_it_ended(lives: Lives) -> None:
    services = (scaled("Deployment", "beside-a"), scaled("StatefulSet", "beside-b"))
    body = appwrapper("beside", job("beside", run_for="500ms"), *services, annotations=AT_ONCE)
    life = await lives.begin(body)
    await life.until(_job_has_ended, "the Job's success in status")
    await ready(life)
    assert len(await lives.names(PODS, life)) == 6
    assert life.phases() == RUNNING_ON
    assert true_conditions(life.events[-1].object) == RUNS
    await lives.delete(STATEFUL_SETS, "beside-b")
    await life.until_phase("Failed")


async def test_helpers_that_serve_are_removed_when_the_job_has_ended(lives: Lives) -> None:
    services = (scaled("Deployment", "helped-a"), scaled("StatefulSet", "helped-b"))
    body = appwrapper("helped", job("helped", run_for="500ms"), *services, annotations=AT_ONCE)
    for component in body["spec"]["components"][1:]:
        component["annotations"] = HELPER
    life = await lives.begin(body)
    await life.until_phase("Succeeded")
    assert life.phases() == TO_SUCCESS
    assert not await exists(lives.client, DEPLOYMENTS, NAMESPACE, "helped-a")
    assert not await exists(lives.client, STATEFUL_SETS, NAMESPACE, "helped-b")
    assert len(await lives.names(PODS, life)) == 2
    await life.check_the_promise_to_kueue()


async def used_pods(lives: Lives) -> str:
    """By the quota that `forbidden` made."""
    quota = await lives.client.get(RESOURCE_QUOTAS, NAMESPACE, "no-pods")
    return str(quota["status"]["used"]["pods"])


async def test_a_quota_that_forbids_the_pods_of_a_deployment_is_reported(lives: Lives) -> None:
    limits = {"admissionGracePeriodDuration": "1h", "failureGracePeriodDuration": "1h"}
    async with lives.forbidden("pods"):
        await comes_to(lambda: used_pods(lives), "0")  # none of an earlier test counts any more
        body = appwrapper("no-pods", scaled("Deployment", "no-pods"), annotations=limits)
        life = await lives.begin(body)
        await life.until_phase("Running")

        async def is_reported() -> bool:
            status = await status_of(lives, DEPLOYMENTS, "no-pods")
            return is_true(status.get("conditions") or (), "ReplicaFailure")

        await comes_to(is_reported, True)
        await lives.annotate("no-pods", admissionGracePeriodDuration="1s")
        unhealthy = await life.until(
            lambda item: UNHEALTHY in true_conditions(item), "that it is unhealthy"
        )
    assert condition(unhealthy, UNHEALTHY) == Condition(
        "True",
        "InsufficientPodsReady",
        "0 of 2 pods exist; Deployment no-pods: FailedCreate: exceeded quota: no-pods, "
        "requested: pods=1, used: pods=0, limited: pods=0",
    )
    await ready(life)
    assert life.phases() == RUNNING_ON


# What an operator made of a component is counted with it: users do not change it.

TWENTY = [{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 20}]
PARALLEL = [{"op": "replace", "path": "/spec/parallelism", "value": 20}]


async def test_users_do_not_change_the_jobs_of_a_job_set(lives: Lives) -> None:
    body = job_set("set-frozen", one=pod_template(hang="running"))
    await ready(await lives.begin(appwrapper("set-frozen", body)))
    await is_frozen(lives, JOBS, "set-frozen-one-0", PARALLEL)


@pytest.mark.long
async def test_users_do_not_change_the_ray_cluster_of_a_ray_job(lives: Lives) -> None:
    await ray_job_runs(lives, "ray-frozen", PATIENT)
    made = (await status_of(lives, RAY_JOBS, "ray-frozen"))["rayClusterName"]
    await is_frozen(lives, RAY_CLUSTERS, made, TWENTY)
