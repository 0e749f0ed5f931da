"""Lives of AppWrappers that wrap an MPIJob, with the real MPI Operator."""

import re

import pytest

from shared.api.conditions import transition_time
from shared.api.objects import CONFIGMAPS, PODS, JsonObject
from shared.kube.client import Propagation
from tests.support.builders.appwrappers import appwrapper, true_conditions, version_of
from tests.support.builders.operated_kinds import mpi_job
from tests.support.builders.pods import pod_template
from tests.support.cluster.failing_lives import ended
from tests.support.cluster.life import Life
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
from tests.support.cluster.resources import JOBS, MPI_JOBS, SERVICES
from tests.support.cluster.stages import (
    IMPATIENT,
    LONG,
    STAYS_PENDING,
    running,
    until_pending,
    waits_for_no_pod,
)
from tests.support.life_record import (
    DEPLOYED,
    QUOTA,
    READY,
    UNHEALTHY,
    condition,
    steps,
    unhealthy_reasons,
)
from tests.support.patience import comes_to

pytestmark = pytest.mark.long

ADMITTED = frozenset({"QuotaReserved", "Admitted"})
PATIENT = {"failureGracePeriodDuration": "1h", "retryPausePeriodDuration": "0s"}


async def conditions_of(lives: Lives, name: str) -> dict[str, str]:
    """The conditions of the MPIJob: type -> status."""
    made = await lives.client.get(MPI_JOBS, NAMESPACE, name)
    return {each["type"]: each["status"] for each in made["status"]["conditions"]}


async def nothing_left(lives: Lives, life: Life, name: str) -> None:
    """Of the AppWrapper its status and its finished Workload are there, and no more."""
    await becomes(
        lives,
        life,
        MPI_JOBS,
        LifeState("Failed", frozenset({UNHEALTHY}), frozenset({*ADMITTED, "Finished"}), (), ()),
    )
    assert await leftovers(lives, name, PODS, JOBS, SERVICES, CONFIGMAPS) == []


def launchers(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, with the random part of launchers' left out."""
    return tuple(re.sub(r"-launcher-\w{5}$", "-launcher", name) for name in names)


@pytest.mark.parametrize("policy", ["None", "Running"])
async def test_it_succeeds_with_its_launcher_and_no_worker_is_left(
    lives: Lives, policy: str
) -> None:
    """Workers that the MPI Operator leaves, by its default, are removed by the controller."""
    name = f"mpi-{policy.lower()}"
    launcher = pod_template(hang="running")
    body = mpi_job(name, launcher=launcher, workers=2, cleanPodPolicy=policy)
    life = await lives.begin(
        appwrapper(name, body, annotations={"failureGracePeriodDuration": "0s"})
    )
    await ready(life)
    at_work = await world(lives, life, MPI_JOBS)
    assert launchers(at_work.pods) == (f"{name}-launcher", f"{name}-worker-0", f"{name}-worker-1")
    assert (at_work.workload, at_work.components) == (ADMITTED, (name,))
    await lives.patch_pod(at_work.pods[0], {"phase": "Succeeded"})
    await life.until_phase("Succeeded")
    assert life.phases() == [*RUNNING, "Succeeded"]
    await becomes(
        lives,
        life,
        MPI_JOBS,
        LifeState(
            "Succeeded",
            frozenset({DEPLOYED, READY}),
            frozenset({*ADMITTED, "Finished"}),
            at_work.pods[:1],
            (name,),
        ),
    )
    words = await conditions_of(lives, name)
    assert (words["Succeeded"], words.get("Failed")) == ("True", None)
    await life.check_the_promise_to_kueue()


async def test_one_that_its_operator_rejects_fails_at_once(lives: Lives) -> None:
    """The MPI Operator reports it in an Event alone, and makes no pod."""
    name = "m" * 55
    life = await lives.begin(appwrapper("mpi-rejected", mpi_job(name), annotations=LONG))
    failed = await life.until_phase("Failed")
    assert condition(failed, UNHEALTHY).reason == "FailedComponent"
    assert condition(failed, UNHEALTHY).message.startswith(
        f"no retry: the operator rejects the component; MPIJob {name}: ValidationError: "
        f'Found validation errors: metadata.name: Invalid value: "{name}": will not able to '
    )
    assert life.phases() == [*RUNNING, "Failed"]


async def test_a_launcher_that_waits_for_ready_workers_is_not_missed(lives: Lives) -> None:
    body = mpi_job("mpi-waits", worker=pod_template(**STAYS_PENDING))
    body["spec"]["launcherCreationPolicy"] = "WaitForWorkersReady"
    life = await lives.begin(appwrapper("mpi-waits", body, annotations=LONG | IMPATIENT))
    await comes_to(lambda: lives.names(PODS, life), ["mpi-waits-worker-0"])
    await until_pending(lives, "mpi-waits-worker-0")
    await lives.annotate("mpi-waits", admissionGracePeriodDuration="0s")
    await lives.patch_pod("mpi-waits-worker-0", running(ready=False))
    await waits_for_no_pod(life)
    await lives.annotate("mpi-waits", **LONG)
    await lives.patch_pod("mpi-waits-worker-0", running(ready=True))
    await ready(life)
    assert life.phases() == RUNNING
    assert unhealthy_reasons(life) == []


async def test_a_launcher_that_fails_is_tried_again_without_grace_until_no_retry_is_left(
    lives: Lives,
) -> None:
    failing = pod_template(run_for="500ms", exit_code="3")
    worker = third(pod_template(hang="running", ignore_deletion_for="1s"))
    body = mpi_job("mpi-fails", launcher=failing, worker=worker)
    life = await lives.begin(
        appwrapper("mpi-fails", body, annotations=PATIENT | {"retryLimit": "1"})
    )
    failed = await life.until_phase("Failed")
    assert failed["status"]["resettingCount"] == 1
    unhealthy = condition(failed, UNHEALTHY)
    assert (unhealthy.status, unhealthy.reason) == ("True", "FailedComponent")
    assert re.fullmatch(
        r"retries exhausted \(1 of 1\): "
        r"MPIJob mpi-fails: BackoffLimitExceeded/: Job has reached the specified backoff"
        r" limit:; 1 failed pod: mpi-fails-launcher-\w{5} on gpu-node-\d+ \(exit code 3\)",
        unhealthy.message,
    )
    assert steps(life, QUOTA, DEPLOYED)[3:8] == [
        ("Running", QUOTA, DEPLOYED),
        ("Resetting", QUOTA, DEPLOYED),
        ("Resetting", QUOTA),
        ("Resuming", QUOTA, DEPLOYED),
        ("Running", QUOTA, DEPLOYED),
    ]
    last = await ended(life, after=failed)
    attempts = uids_by_attempt(life)
    assert {attempt: len(uids) for attempt, uids in attempts.items()} == {"1": 2, "2": 2}
    assert not attempts["1"] & attempts["2"]
    await nothing_left(lives, life, "mpi-fails")
    # Kueue has ended its Workload no sooner than everything had been given back.
    given_back = transition_time(last["status"]["conditions"], QUOTA)
    workload = await lives.workload(life)
    finished = transition_time(workload["status"]["conditions"], "Finished")
    assert given_back is not None
    assert finished is not None
    assert given_back <= finished
    await life.check_the_promise_to_kueue()


async def test_a_worker_that_fails_is_waited_for_and_the_next_attempt_succeeds(
    lives: Lives,
) -> None:
    """The MPI Operator neither replaces it nor reports it: the launcher may do without."""
    worker = pod_template(run_for="500ms", exit_code="3", fail_index="1", fail_attempts="1")
    body = mpi_job("mpi-worker", worker=worker, workers=2)
    life = await lives.begin(appwrapper("mpi-worker", body, annotations=PATIENT))
    sick = await life.until(lambda item: UNHEALTHY in true_conditions(item), UNHEALTHY)
    unhealthy = condition(sick, UNHEALTHY)
    assert (sick["status"]["phase"], unhealthy.reason) == ("Running", "FoundFailedPods")
    assert "1 failed pod: mpi-worker-worker-1 on gpu-node-" in unhealthy.message
    assert "(exit code 3)" in unhealthy.message
    first = await lives.client.get(MPI_JOBS, NAMESPACE, "mpi-worker")
    # "Running" only if the operator saw launcher and workers run at the same moment.
    assert (
        {"Created"} <= (await conditions_of(lives, "mpi-worker")).keys() <= {"Created", "Running"}
    )
    await lives.annotate("mpi-worker", failureGracePeriodDuration="0s")
    again = await ready(life, after=version_of(sick))
    assert (again["status"]["attempt"], again["status"]["resettingCount"]) == (2, 1)
    second = await lives.client.get(MPI_JOBS, NAMESPACE, "mpi-worker")
    assert first["metadata"]["uid"] != second["metadata"]["uid"]
    [launcher] = [each for each in await lives.names(PODS, life) if "-launcher-" in each]
    await lives.patch_pod(launcher, {"phase": "Succeeded"})
    await life.until_phase("Succeeded")
    assert life.phases() == [*RUNNING, "Resetting", "Resuming", "Running", "Succeeded"]
    await life.check_the_promise_to_kueue()


@pytest.mark.parametrize("how", [Propagation.BACKGROUND, Propagation.ORPHAN])
async def test_a_component_deleted_by_another_client_fails_the_appwrapper_at_once(
    lives: Lives, how: Propagation
) -> None:
    """Orphaned, its launcher's Job stays, and would make a pod anew for each that is deleted."""
    name = f"mpi-lost-{how.value.lower()}"
    body = mpi_job(name, backoffLimit=1000)
    life = await lives.begin(appwrapper(name, body, annotations=PATIENT | {"retryLimit": "9"}))
    await ready(life)
    await lives.client.delete(MPI_JOBS, NAMESPACE, name, uid=None, propagation=how)
    await fails_as_deleted(life, f"MPIJob {name}")
    await becomes(
        lives,
        life,
        MPI_JOBS,
        LifeState("Failed", frozenset({UNHEALTHY}), frozenset({*ADMITTED, "Finished"}), (), ()),
    )
    # What holds no pods and was orphaned is not the controller's to delete. What was not orphaned
    # the garbage collector takes.
    await comes_to(lambda: leftovers(lives, name, PODS, JOBS), [])
    await life.check_the_promise_to_kueue()


async def test_a_preempted_appwrapper_runs_again_after_the_more_urgent_workload(
    lives: Lives,
) -> None:
    def template() -> JsonObject:
        return third(pod_template(hang="running", ignore_deletion_for="1s"))

    body = mpi_job("mpi-victim", launcher=template(), worker=template(), workers=2)
    life = await lives.begin(appwrapper("mpi-victim", body))
    await preempted_and_back(lives, life, MPI_JOBS)
    assert true_conditions(life.events[-1].object) == RUNS

    async def runs() -> str:
        return (await conditions_of(lives, "mpi-victim")).get("Running", "")

    await comes_to(runs, "True")


async def test_the_sample_succeeds(lives: Lives) -> None:
    life = await lives.begin(kind_sample("mpijob.yaml"))
    await life.until_phase("Succeeded")
