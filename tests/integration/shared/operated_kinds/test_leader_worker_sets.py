"""Lives of AppWrappers that wrap a LeaderWorkerSet, with its real operator.

It never completes: its success is that all of its groups are ready, until it is deleted.
"""

import re

import pytest

from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from shared.kube.client import Propagation
from tests.support.builders.appwrappers import appwrapper, phase, true_conditions, version_of
from tests.support.builders.operated_kinds import always, leader_worker_set
from tests.support.builders.pods import pod_template
from tests.support.cluster.failing_lives import ended
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
)
from tests.support.cluster.resources import (
    LEADER_WORKER_SETS,
    SERVICES,
    STATEFUL_SETS,
    WORKLOADS,
)
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
OVER = LifeState("Failed", frozenset({UNHEALTHY}), frozenset({*ADMITTED, "Finished"}), (), ())


def runs(**simulation: str) -> JsonObject:
    """A pod that runs until it is deleted."""
    return always(pod_template(**{"hang": "running"} | simulation))


async def available(lives: Lives, name: str) -> tuple[str, int]:
    """What the LeaderWorkerSet reports: its condition Available, and how many groups are ready.

    A group is, for 0.8.0, when its leader is ready and the pods of its workers exist.
    """
    status = (await lives.client.get(LEADER_WORKER_SETS, NAMESPACE, name)).get("status") or {}
    found = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    return found.get("Available", ""), status.get("readyReplicas", 0)


async def pods(lives: Lives, name: str) -> dict[str, str]:
    """Those of the LeaderWorkerSet: name -> UID."""
    found: dict[str, str] = {}
    pages = lives.client.pages(
        PODS, NAMESPACE, label_selector=f"leaderworkerset.sigs.k8s.io/name={name}"
    )
    async for page in pages:
        found |= {each["metadata"]["name"]: each["metadata"]["uid"] for each in page.items}
    return found


@pytest.mark.parametrize("startup", ["LeaderCreated", "LeaderReady"])
async def test_it_runs_with_all_its_groups_until_it_is_deleted(lives: Lives, startup: str) -> None:
    name = f"lws-{startup.lower()}"
    body = leader_worker_set(
        name, leader=runs(), worker=runs(), replicas=2, size=2, startupPolicy=startup
    )
    life = await lives.begin(appwrapper(name, body))
    await ready(life)
    members = (f"{name}-0", f"{name}-0-1", f"{name}-1", f"{name}-1-1")
    at_work = LifeState("Running", frozenset(RUNS), ADMITTED, members, (name,))
    await becomes(lives, life, LEADER_WORKER_SETS, at_work)
    await comes_to(lambda: available(lives, name), ("True", 2))
    # Kueue, which queues LeaderWorkerSets as well, leaves this one to its AppWrapper's Workload.
    assert len(await leftovers(lives, "leaderworkerset", WORKLOADS)) == 0
    assert life.phases() == RUNNING
    await lives.delete(APPWRAPPERS, name)
    await life.until_deleted()
    assert await leftovers(lives, name, PODS, STATEFUL_SETS, SERVICES, LEADER_WORKER_SETS) == []
    await life.check_the_promise_to_kueue()


async def test_workers_that_wait_for_a_ready_leader_are_not_missed(lives: Lives) -> None:
    leader = always(pod_template(**STAYS_PENDING))
    body = leader_worker_set(
        "lws-waits", leader=leader, worker=runs(), size=2, startupPolicy="LeaderReady"
    )
    life = await lives.begin(appwrapper("lws-waits", body, annotations=LONG | IMPATIENT))
    await comes_to(lambda: lives.names(PODS, life), ["lws-waits-0"])
    await until_pending(lives, "lws-waits-0")
    await lives.annotate("lws-waits", admissionGracePeriodDuration="0s")
    await lives.patch_pod("lws-waits-0", running(ready=False))
    await waits_for_no_pod(life)
    await lives.annotate("lws-waits", **LONG)
    await lives.patch_pod("lws-waits-0", running(ready=True))
    await ready(life)
    assert life.phases() == RUNNING
    assert unhealthy_reasons(life) == []


async def test_a_group_that_its_operator_recreates_spends_no_retry(lives: Lives) -> None:
    body = leader_worker_set("lws-heals", leader=runs(), worker=runs(), replicas=2, size=2)
    life = await lives.begin(appwrapper("lws-heals", body))
    held = await ready(life)
    before = await pods(lives, "lws-heals")
    worker = await lives.client.get(PODS, NAMESPACE, "lws-heals-1-1")
    [container] = worker["status"]["containerStatuses"]
    await lives.patch_pod("lws-heals-1-1", {"containerStatuses": [container | {"restartCount": 1}]})
    lost = await life.until(
        lambda item: version_of(item) > version_of(held) and READY not in true_conditions(item),
        "a group that is not ready",
    )
    again = await ready(life, after=version_of(lost))
    after = await pods(lives, "lws-heals")
    assert {name for name, uid in after.items() if before[name] == uid} == {
        "lws-heals-0",
        "lws-heals-0-1",
    }
    assert (again["status"]["attempt"], "resettingCount" in again["status"]) == (1, False)
    # The leader waits for its workers to go, and has failed meanwhile: it was ended by SIGTERM.
    assert {*unhealthy_reasons(life)} <= {"FoundFailedPods"}
    assert life.phases() == RUNNING
    await comes_to(lambda: available(lives, "lws-heals"), ("True", 2))


async def test_a_group_that_never_comes_is_tried_again_until_no_retry_is_left(
    lives: Lives,
) -> None:
    """Its leader never starts. Its worker crashes in the same pod, as its operator is told."""
    crashes = always(pod_template(run_for="300ms", exit_code="1", restart_after="200ms"))
    stuck = third(runs(hang="pending", ignore_deletion_for="1s"))
    body = leader_worker_set(
        "lws-fails", leader=stuck, worker=crashes, size=2, restartPolicy="None"
    )
    periods = {
        "warmupGracePeriodDuration": "1h",
        "failureGracePeriodDuration": "1h",
        "retryPausePeriodDuration": "0s",
        "retryLimit": "1",
    }
    life = await lives.begin(appwrapper("lws-fails", body, annotations=periods))

    async def crashed_twice() -> bool:
        worker = await lives.client.get(PODS, NAMESPACE, "lws-fails-0-1")
        containers = worker["status"].get("containerStatuses") or ()
        return any(each["restartCount"] > 1 for each in containers)

    await life.until_phase("Running")
    await comes_to(lambda: pods_named(lives, "lws-fails"), {"lws-fails-0", "lws-fails-0-1"})
    await comes_to(crashed_twice, True)
    await lives.annotate("lws-fails", warmupGracePeriodDuration="0s")
    sick = await life.until(lambda item: UNHEALTHY in true_conditions(item), UNHEALTHY)
    assert phase(sick) == "Running"
    assert condition(sick, UNHEALTHY).reason == "InsufficientPodsReady"
    each = r"lws-fails-0\S* on gpu-node-\d+"
    why = (
        r"lws-fails-0-1 on gpu-node-\d+ failed \(exit code \d+\); "
        f"0 of 2 pods run or succeeded; not running: {each}, {each}; 1 pod crashes again and again;"
        " LeaderWorkerSet lws-fails: GroupsProgressing: Replicas are progressing"
        r" \(0 of 1 groups are ready\)"
    )
    assert re.fullmatch(why, condition(sick, UNHEALTHY).message), condition(sick, UNHEALTHY)
    await lives.annotate("lws-fails", failureGracePeriodDuration="0s")
    failed = await life.until_phase("Failed")
    assert failed["status"]["resettingCount"] == 1
    assert steps(life, QUOTA, DEPLOYED)[3:8] == [
        ("Running", QUOTA, DEPLOYED),
        ("Resetting", QUOTA, DEPLOYED),
        ("Resetting", QUOTA),
        ("Resuming", QUOTA, DEPLOYED),
        ("Running", QUOTA, DEPLOYED),
    ]
    await ended(life, after=failed)
    await life.check_the_promise_to_kueue()  # it has seen all pods by then
    attempts = uids_by_attempt(life)
    assert not attempts["1"] & attempts.get("2", set())
    await becomes(lives, life, LEADER_WORKER_SETS, OVER)
    assert await leftovers(lives, "lws-fails", PODS, STATEFUL_SETS, SERVICES) == []


async def pods_named(lives: Lives, name: str) -> set[str]:
    return {*await pods(lives, name)}


@pytest.mark.parametrize("how", [Propagation.BACKGROUND, Propagation.ORPHAN])
async def test_a_component_deleted_by_another_client_fails_the_appwrapper_at_once(
    lives: Lives, how: Propagation
) -> None:
    """Orphaned, its StatefulSets stay, and would make a pod anew for each that is deleted."""
    name = f"lws-lost-{how.value.lower()}"
    body = leader_worker_set(name, leader=runs(), worker=runs(), size=2)
    life = await lives.begin(appwrapper(name, body, annotations={"retryLimit": "9"}))
    await ready(life)
    await lives.client.delete(LEADER_WORKER_SETS, NAMESPACE, name, uid=None, propagation=how)
    await fails_as_deleted(life, f"LeaderWorkerSet {name}")
    await becomes(lives, life, LEADER_WORKER_SETS, OVER)
    await comes_to(lambda: leftovers(lives, name, PODS, STATEFUL_SETS), [])
    await life.check_the_promise_to_kueue()


async def test_a_preempted_appwrapper_runs_again_after_the_more_urgent_workload(
    lives: Lives,
) -> None:
    template = third(runs(ignore_deletion_for="1s"))
    life = await lives.begin(
        appwrapper("lws-victim", leader_worker_set("lws-victim", worker=template, size=3))
    )
    await preempted_and_back(lives, life, LEADER_WORKER_SETS)
    await comes_to(lambda: available(lives, "lws-victim"), ("True", 1))


async def test_the_sample_runs(lives: Lives) -> None:
    life = await lives.begin(kind_sample("leaderworkerset.yaml"))
    await ready(life)
    assert len(await lives.names(PODS, life)) == 6
