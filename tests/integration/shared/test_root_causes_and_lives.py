"""What root causes change of an AppWrapper's life, and what they leave alone."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import PODS, JsonObject
from shared.kube.client import NotFound, PatchType, Propagation
from tests.support.builders.appwrappers import appwrapper, true_conditions, version_of
from tests.support.builders.jobs import job, pytorch_job, scaled
from tests.support.builders.pods import pod, pod_template
from tests.support.cluster.failed_workers import (
    column,
    decided,
    folder_of,
    operators_log,
    running,
    world_of,
)
from tests.support.cluster.lives import NAMESPACE, Lives, force_off, slow_to_go
from tests.support.cluster.resources import PYTORCH_JOBS
from tests.support.life_record import UNHEALTHY, condition
from tests.support.patience import comes_to
from tests.support.root_cause_cases.case import PATIENT, STORE, Case, expected, failure
from tests.support.root_cause_cases.recorded import NO_RETRY
from tests.support.root_cause_cases.workers import End, leave, raised

LOST = raised("torch.distributed.DistBackendError: connection reset by peer", recoverable=True)


async def test_a_failure_that_heals_is_in_the_history_alone(
    lives: Lives, cluster: RunningCluster
) -> None:
    """Case 20: its ReplicaSet replaces the pod; news of a second one do not move the deadline."""
    patient = {"failureGracePeriodDuration": "1h"}
    life = await lives.begin(
        appwrapper("heals", scaled("Deployment", "heals"), annotations=patient)
    )
    workers = await running(lives, life, 2)
    first = End(after=1, record=raised("ValueError: SECRET-20", rank=0))
    second = End(after=0.5, record=raised("KeyError: SECRET-21", rank=1))
    async with lives.forbidden("pods"):
        # What is younger than the news would not be told anew, and times begin with whole seconds.
        await asyncio.sleep(first.after)
        await workers.end({0: first})
        sick = await life.until(lambda item: UNHEALTHY in true_conditions(item), "unhealthy")
        await workers.end({1: second})
        sicker = await life.until(
            lambda item: (
                UNHEALTHY in true_conditions(item)
                and "KeyError" in condition(item, UNHEALTHY).message
            ),
            "the earlier one named",
        )
    assert sicker["status"]["timers"]["failure"] == sick["status"]["timers"]["failure"]
    healed = await life.until(
        lambda item: (
            version_of(item) > version_of(sicker) and UNHEALTHY not in true_conditions(item)
        ),
        "healed",
    )
    assert life.phases() == ["", "Suspended", "Resuming", "Running"]
    world = await world_of(lives, healed, events=0)
    assert (world.retries, world.suspects) == (0, ())
    assert [each["decision"] for each in world.history] == ["None"]
    assert world.history[0]["pod"] == workers.name(1)
    assert "SECRET" not in operators_log(cluster)


def two_roles(name: str) -> JsonObject:
    template = pod_template(container="pytorch", hang="running")
    return pytorch_job(name, "Never", Master=template, Worker=template)


async def test_a_slow_workers_record_is_waited_for(lives: Lives, cluster: RunningCluster) -> None:
    """Case 21: the PyTorchJob failed before the pod that failed first has said so."""
    if "training-operator" not in cluster.options.components:
        pytest.skip("needs the Training Operator: --with training-operator")
    root = End(after=0.25, record=raised("ValueError: SECRET-25", rank=1))
    lost = End(after=1, record=LOST)
    # The controller waits for five seconds, which this process may miss on a busy machine.
    for name in ("slow", "slow-again", "slow-once-more"):
        life = await lives.begin(appwrapper(name, two_roles(name), annotations=PATIENT))
        workers = await running(lives, life, 2)
        await workers.end({0: lost})
        status = {"status": workers.ended(1, root)}
        with suppress(NotFound):  # what has failed is deleted
            await comes_to(lambda name=name: failed(lives, name), True)  # type: ignore[misc]
            patched = await lives.client.patch(
                PODS, NAMESPACE, workers.name(1), status, PatchType.MERGE, subresource="status"
            )
            ended = await life.until_phase("Failed")
            if version_of(patched) < version_of(ended):
                break
    else:
        pytest.fail("it did not wait")
    world = await world_of(lives, ended)
    reports = failure(1, {0: lost, 1: root}, then=NO_RETRY, container="pytorch")
    wanted = expected(Case(name=name, failures=(reports,)), [workers])
    assert (world.root_cause, world.events) == (wanted.root_cause, wanted.events)
    assert life.phases() == ["", "Suspended", "Resuming", "Running", "Failed"]
    assert await column(cluster, name) == world.root_cause["summary"]
    assert "SECRET" not in operators_log(cluster)


async def failed(lives: Lives, name: str) -> bool:
    status = (await lives.client.get(PYTORCH_JOBS, NAMESPACE, name)).get("status") or {}
    return any(
        (each["type"], each["status"]) == ("Failed", "True")
        for each in status.get("conditions") or ()
    )


async def test_a_failed_pod_that_is_deleted_at_once_is_still_named(
    lives: Lives, cluster: RunningCluster
) -> None:
    """Case 23: what the watch saw, and what the store holds, outlive the pod."""
    body = appwrapper("gone", job("gone", 2, hang="running"), annotations={
        **PATIENT, "errorStore": STORE, "retryPausePeriodDuration": "1h",
    })  # fmt: skip
    life = await lives.begin(body)
    workers = await running(lives, life, 2)
    end = End(after=0.5, record=raised("OSError: SECRET-24", recoverable=True, rank=0))
    leave(folder_of(cluster, life), workers.record(0, end))
    await workers.end({0: replace(end, record=None)})
    await lives.client.delete(
        PODS, NAMESPACE, workers.name(0), uid=None, propagation=Propagation.BACKGROUND
    )
    resetting = await life.until_phase("Resetting")
    world = await world_of(lives, resetting)
    assert world.root_cause["pod"] == workers.name(0)
    assert world.root_cause["message"] == "OSError: SECRET-24"
    assert (world.retries, world.suspects) == (1, ())
    assert await column(cluster, "gone") == world.root_cause["summary"]
    assert "SECRET" not in operators_log(cluster)


async def test_a_failure_during_a_suspension_is_no_root_cause(
    lives: Lives, cluster: RunningCluster
) -> None:
    """Case 25: preempted while it runs."""
    # They stay until the test has ended them.
    pods = [slow_to_go(pod(f"preempted-{index}", hang="running", ignore_deletion_for="1h"))
            for index in range(2)]  # fmt: skip
    life = await lives.begin(appwrapper("preempted", *pods, annotations=PATIENT))
    workers = await running(lives, life, 2)
    await lives.set_active(life, False)
    await life.until_phase("Suspending")
    ends = {
        0: End(after=1, code=143, record=raised("ValueError: SECRET-26", rank=0)),
        1: End(after=1, code=137, record=LOST),
    }
    await workers.end(ends)
    await asyncio.sleep(2)  # time enough to take it for a failure
    for index in ends:
        await force_off(lives, workers.name(index))
    suspending = await life.until_phase("Suspending")
    await life.until_phase("Suspended", after=version_of(suspending))
    assert life.phases() == ["", "Suspended", "Resuming", "Running", "Suspending", "Suspended"]
    status = life.events[-1].object["status"]
    assert not {"rootCause", "errorHistory", "resettingCount", "suspectNodes"} & {*status}
    assert await column(cluster, "preempted") == ""
    assert "SECRET" not in operators_log(cluster)


async def test_a_component_deleted_by_another_client_fails_it_whatever_was_recorded(
    lives: Lives, cluster: RunningCluster
) -> None:
    """Case 25."""
    pods = [pod(f"robbed-{index}", hang="running") for index in range(2)]
    life = await lives.begin(appwrapper("robbed", *pods, annotations=PATIENT))
    workers = await running(lives, life, 2)
    end = End(after=1, record=raised("OSError: SECRET-27", recoverable=True, rank=0))
    await workers.end({0: end})
    await life.until(lambda item: UNHEALTHY in true_conditions(item), "unhealthy")
    await lives.delete(PODS, "robbed-1")
    ended = await life.until_phase("Failed")
    assert "Resetting" not in life.phases()
    assert "resettingCount" not in ended["status"]
    assert "SECRET" not in operators_log(cluster)


def environment(item: JsonObject) -> dict[str, Any]:
    (container,) = item["spec"]["containers"]
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}


async def test_created_pods_have_the_environment_of_a_recorder(
    lives: Lives, cluster: RunningCluster
) -> None:
    """The user's own values stay, and Kueue's Workload is the one that it was."""
    ours = pod("fitted-0", hang="running")
    own = pod("fitted-1", hang="running")
    own["spec"]["containers"][0] |= {
        "env": [{"name": "AW_WORKER_NAME", "value": "mine"}, {"name": "OTHER", "value": "x"}],
        "terminationMessagePolicy": "File",
    }
    own["spec"]["initContainers"] = [{"name": "prepare", "image": "none"}]
    body = appwrapper("fitted", ours, own, annotations={**PATIENT, "errorStore": STORE})
    life = await lives.begin(body)
    workers = await running(lives, life, 2)
    workload = await lives.workload(life)
    first, second = workers.pods
    assert environment(first) == {
        "AW_ERROR_STRATEGY": "earliest",
        "AW_WORKER_NAME": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}},
        "AW_POD_UID": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.uid"}},
        "AW_NODE_NAME": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}},
        "AW_ATTEMPT": "1",
        "AW_ERROR_URI": folder_of(cluster, life).as_uri(),
        "AW_TERMINATION_BUDGET": "4096",
    }
    assert environment(second) == environment(first) | {"AW_WORKER_NAME": "mine", "OTHER": "x"}
    policies = [each["spec"]["containers"][0]["terminationMessagePolicy"] for each in workers.pods]
    assert policies == ["FallbackToLogsOnError", "File"]
    (prepare,) = second["spec"]["initContainers"]
    assert prepare["terminationMessagePolicy"] == "FallbackToLogsOnError"
    # A reset, whose attempt has another environment, is nothing to Kueue.
    await workers.end({0: End(after=1, code=1)})
    await decided(lives, life, "Resetting")
    again = await running(lives, life, 2, attempt=2)
    assert environment(again.pods[0])["AW_ATTEMPT"] == "2"
    after = await lives.workload(life)
    assert after["metadata"]["uid"] == workload["metadata"]["uid"]
    assert after["spec"] == workload["spec"]
    assert "Suspending" not in life.phases()
    stored = life.events[-1].object["spec"]["components"]
    assert "env" not in stored[0]["template"]["spec"]["containers"][0]


async def test_with_the_strategy_off_nothing_but_the_log_is_asked_for(lives: Lives) -> None:
    body = appwrapper("unfitted", job("unfitted", 1, hang="running"),
                      annotations={"errorAggregation": "off"})  # fmt: skip
    life = await lives.begin(body)
    workers = await running(lives, life, 1)
    (container,) = workers.pods[0]["spec"]["containers"]
    assert "env" not in container
    assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"
