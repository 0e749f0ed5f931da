"""Lives of AppWrappers that wrap a TrainJob, with the real Kubeflow Trainer and JobSet."""

import re

import pytest

from shared.api.names import LABEL_COMPONENT
from shared.api.objects import CONFIGMAPS, PODS, JsonObject
from shared.kube.client import Propagation
from tests.support.builders.appwrappers import appwrapper, true_conditions
from tests.support.builders.operated_kinds import runtime_job, train_job, training_runtime
from tests.support.builders.pods import pod_template
from tests.support.cluster.failing_lives import ended
from tests.support.cluster.life import listed
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.cluster.operated_lives import (
    RUNNING,
    RUNS,
    LifeState,
    becomes,
    fails_as_deleted,
    kind_sample,
    leftovers,
    preempted_and_back,
    ready,
    third,
    uids_by_attempt,
    world,
)
from tests.support.cluster.resources import (
    JOB_SETS,
    JOBS,
    SERVICES,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
)
from tests.support.cluster.stages import IMPATIENT, LONG, waits_for_no_pod
from tests.support.life_record import (
    DEPLOYED,
    QUOTA,
    READY,
    UNHEALTHY,
    condition,
    unhealthy_reasons,
)
from tests.support.patience import comes_to

pytestmark = pytest.mark.long

ADMITTED = frozenset({"QuotaReserved", "Admitted"})
OVER = LifeState("Failed", frozenset({UNHEALTHY}), frozenset({*ADMITTED, "Finished"}), (), ())
MADE = (PODS, JOBS, JOB_SETS, SERVICES, TRAINING_RUNTIMES)
PATIENT = {"failureGracePeriodDuration": "1h", "retryPausePeriodDuration": "0s"}


def nodes(template: JsonObject, **fields: object) -> JsonObject:
    return runtime_job("node", template, step="trainer", **fields)


def wrapped(
    name: str, *jobs: JsonObject, annotations: dict[str, str] | None = None, **spec: object
) -> JsonObject:
    """Builds the AppWrapper of a TrainJob with two nodes. `spec` is that of the JobSet."""
    runtime = training_runtime(name, *jobs, nodes=2, **spec)
    own = train_job(name, trainer={"numNodes": 2})
    return appwrapper(name, runtime, own, annotations=annotations or {})


async def conditions_of(lives: Lives, name: str) -> dict[str, str]:
    """The conditions of the TrainJob: type -> status."""
    made = await lives.client.get(TRAIN_JOBS, NAMESPACE, name)
    found = (made.get("status") or {}).get("conditions") or ()
    return {each["type"]: each["status"] for each in found}


async def test_it_succeeds_and_stays_ended_when_its_job_set_has_gone(lives: Lives) -> None:
    """Its nodes wait for the data, and no period runs for them; a TTL deletes the JobSet.

    Trainer 2.1 made the JobSet anew after that (its issue 2981), and so ran the pods again.
    """
    name = "train-ends"
    waits = [{"name": "data", "status": "Complete"}]
    data = runtime_job("data", pod_template(hang="running"))
    work = nodes(pod_template(hang="running"), dependsOn=waits)
    periods = LONG | IMPATIENT
    life = await lives.begin(
        wrapped(name, data, work, annotations=periods, ttlSecondsAfterFinished=1)
    )

    async def pods() -> list[str]:
        return [re.sub(r"-\w{5}$", "", each) for each in await lives.names(PODS, life)]

    await comes_to(pods, [f"{name}-data-0-0"])
    [first] = await lives.names(PODS, life)
    await waits_for_no_pod(life)
    await lives.patch_pod(first, {"phase": "Succeeded"})
    await comes_to(pods, [f"{name}-data-0-0", f"{name}-node-0-0", f"{name}-node-0-1"])
    found = await listed(lives.client, PODS, NAMESPACE, f"jobset.sigs.k8s.io/jobset-name={name}")
    assert {each["metadata"]["labels"][LABEL_COMPONENT] for each in found} == {"1"}
    await ready(life)
    for each in (await lives.names(PODS, life))[1:]:
        await lives.patch_pod(each, {"phase": "Succeeded"})
    await life.until_phase("Succeeded")
    assert life.phases() == [*RUNNING, "Succeeded"]
    assert unhealthy_reasons(life) == []
    await comes_to(lambda: leftovers(lives, name, JOB_SETS, JOBS, PODS), [])
    assert await conditions_of(lives, name) == {"Complete": "True"}
    assert await leftovers(lives, name, TRAINING_RUNTIMES, CONFIGMAPS) == [
        f"TrainingRuntime {name}",
        f"ConfigMap {name}-runtime-snapshot",
    ]
    state = await world(lives, life, TRAIN_JOBS)
    assert (state.phase, state.workload, state.pods) == (
        "Succeeded",
        ADMITTED | {"Finished"},
        (),
    )
    await life.check_the_promise_to_kueue()


async def test_one_that_fails_is_tried_again_and_names_the_rank_that_failed_first(
    lives: Lives,
) -> None:
    name = "train-fails"
    template = third(
        pod_template(run_for="500ms", exit_code="3", fail_index="1", ignore_deletion_for="1s")
    )
    body = wrapped(name, nodes(template), annotations=PATIENT | {"retryLimit": "1"})
    life = await lives.begin(body)
    failed = await life.until_phase("Failed")
    assert failed["status"]["resettingCount"] == 1
    unhealthy = condition(failed, UNHEALTHY)
    assert (unhealthy.status, unhealthy.reason) == ("True", "FailedComponent")
    assert unhealthy.message.startswith(
        f"retries exhausted (1 of 1): TrainJob {name}: FailedJobs: "
    )
    assert re.search(rf"{name}-node-0-1-\w{{5}} on gpu-node-\d+ \(exit code 3\)", unhealthy.message)
    cause = failed["status"]["rootCause"]
    assert re.fullmatch(rf"{name}-node-0-1-\w{{5}}", cause["pod"])
    assert cause["exitCode"] == 3
    await ended(life, after=failed)
    attempts = uids_by_attempt(life)
    assert {attempt: len(uids) for attempt, uids in attempts.items()} == {"1": 2, "2": 2}
    await becomes(lives, life, TRAIN_JOBS, OVER)
    assert await leftovers(lives, name, *MADE) == []
    await life.check_the_promise_to_kueue()


@pytest.mark.parametrize("how", [Propagation.BACKGROUND, Propagation.ORPHAN])
async def test_a_train_job_deleted_by_another_client_fails_the_appwrapper_at_once(
    lives: Lives, how: Propagation
) -> None:
    """Orphaned, its JobSet stays, and would make each deleted Job anew."""
    name = f"train-lost-{how.value.lower()}"
    body = wrapped(name, nodes(pod_template(hang="running")), annotations={"retryLimit": "9"})
    life = await lives.begin(body)
    await ready(life)
    await lives.client.delete(TRAIN_JOBS, NAMESPACE, name, uid=None, propagation=how)
    await fails_as_deleted(life, f"TrainJob {name}")
    await becomes(lives, life, TRAIN_JOBS, OVER)
    await comes_to(lambda: leftovers(lives, name, PODS, JOBS, JOB_SETS), [])
    await life.check_the_promise_to_kueue()


async def test_a_preempted_appwrapper_runs_again_after_the_more_urgent_workload(
    lives: Lives,
) -> None:
    template = third(pod_template(hang="running", ignore_deletion_for="1s"))
    life = await lives.begin(wrapped("train-victim", nodes(template)))
    await preempted_and_back(lives, life, TRAIN_JOBS)
    assert true_conditions(life.events[-1].object) == RUNS == {QUOTA, DEPLOYED, READY}


async def test_the_sample_succeeds(lives: Lives) -> None:
    life = await lives.begin(kind_sample("trainjob.yaml"))
    await life.until_phase("Succeeded")
