"""A deletion that takes long is looked into by live reads, now and then."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.facts.deployed import DeployedObject
from controller.reports.deleting_resources import EXPLAIN_AFTER as PATIENCE
from controller.reports.deleting_resources import EXPLAIN_AGAIN
from shared.api.objects import PODS
from shared.api.times import format_precise_time
from shared.kube.client import NotFound, Unreachable
from tests.support.builders.gathering import (
    KEY,
    NOT_FOUND,
    NOW,
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
    job,
    raw_pod,
)
from tests.support.cluster.resources import JOBS
from tests.support.fakes.fake_kube import listed

DELETING = ("QuotaReserved", "ResourcesDeployed", "PodsReady", "DeletingResources")
FORCEFUL = "workload.codeflare.dev.appwrapper/forcefulDeletionGracePeriodDuration"
SECOND = timedelta(seconds=1)


def deleting(began: timedelta, *, grace: str = "10m", phase: str = "Suspending") -> dict[str, Any]:
    """An AppWrapper whose deletion began that long ago."""
    timer = {
        "began": format_precise_time(NOW - began),
        "phase": phase,
        "attempt": 1,
        "resettingCount": 0,
    }
    timers = {"forcefulDeletion": timer}
    return appwrapper(phase, *DELETING, timers=timers, metadata={"annotations": {FORCEFUL: grace}})


def going(**metadata: Any) -> dict[str, Any]:
    """The Job as its metadata say, being deleted in the foreground."""
    item = job()
    item["metadata"] |= {
        "deletionTimestamp": "2025-12-31T23:00:00Z",
        "finalizers": ["foregroundDeletion"],
        **metadata,
    }
    return item


def gone_pod(name: str, **spec: Any) -> dict[str, Any]:
    item = raw_pod(name, "Running")
    item["metadata"]["deletionTimestamp"] = "2025-12-31T23:00:00Z"
    return {**item, "spec": spec}


@pytest.mark.parametrize(("began", "looked"), [(PATIENCE - SECOND, False), (PATIENCE, True)])
async def test_caches_are_believed_while_it_is_young(began: timedelta, looked: bool) -> None:
    bench = Gathering(
        deleting(began), known=facts(), get=[going(), going()], lists=[[listed(9)], [listed(9)]]
    )
    snapshot = (await bench.observe()).snapshot
    assert not snapshot.gone
    assert snapshot.blockers == (("Job train waits for the garbage collector",) if looked else ())
    assert bench.methods() == (["get", "pages", "get", "pages"] if looked else [])


async def test_a_pod_that_is_killed_at_the_end_of_the_usual_grace_period_is_not_reported() -> None:
    """`sh` as a container's first process ignores SIGTERM; nothing holds such a deletion up."""
    killed_and_reported = timedelta(seconds=30 + 10)
    bench = Gathering(deleting(killed_and_reported), known=facts(), pods=RUNNING_PODS)
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.gone, snapshot.blockers, bench.methods()) == (False, (), [])


async def test_a_stale_cache_entry_delays_nothing() -> None:
    """The watch of a Kind may have ended with it: its DELETED never came."""
    bench = Gathering(deleting(PATIENCE), known=facts(), get=[NOT_FOUND], lists=[[listed(9)]])
    assert (await bench.observe()).snapshot.gone


async def test_an_object_that_a_delete_did_not_find_is_read_at_once() -> None:
    bench = Gathering(deleting(SECOND), known=facts(), get=[NOT_FOUND], lists=[[listed(9)]])
    bench.deletions.of("u1").absent.add("j1")
    assert (await bench.observe()).snapshot.gone


async def test_a_delete_that_finds_nothing_is_no_proof() -> None:
    bench = Gathering(deleting(SECOND), known=facts(), get=[job()], lists=[[listed(9)]])
    bench.deletions.of("u1").absent.add("j1")
    observation = await bench.observe()
    assert not observation.snapshot.gone
    assert observation.deployed == (DeployedObject(JOBS, "train", "j1", False, attempt="1"),)


@pytest.mark.parametrize("change", ["none", "of an object", "of a refusal", "the deadline"])
async def test_obstacles_are_searched_again_only_after_a_change(change: str) -> None:
    held = going(finalizers=["foregroundDeletion", "example.com/hold"])
    item = deleting(PATIENCE, grace="65s" if change == "the deadline" else "1h")
    bench = Gathering(item, known=facts(), get=[held] * 4, lists=[[listed(9)]] * 4)
    blocker = "Job train has the finalizer example.com/hold"
    again = 4 if change == "none" else 8
    for elapsed, reads in ((0 * SECOND, 4), (EXPLAIN_AGAIN - SECOND, 4), (EXPLAIN_AGAIN, again)):
        if elapsed and change == "of an object":
            bench.watches.set(replace(facts(), deleting=True))
        if elapsed and change == "of a refusal":
            bench.deletions.of("u1").refused["j1"] = "not this one"
        observation = await bench.gather(KEY, NOW + elapsed)
        assert observation is not None
        assert blocker in observation.snapshot.blockers
        assert bench.deletions.stuck() == {("other", "Job"): 1}
        assert len(bench.methods()) == reads


async def test_after_a_clock_was_set_back_it_is_looked_into_again_at_once() -> None:
    item = deleting(PATIENCE + SECOND)
    bench = Gathering(item, known=facts(), get=[going()] * 4, lists=[[listed(9)]] * 4)
    for elapsed, reads in ((0 * SECOND, 4), (-SECOND, 8)):
        await bench.gather(KEY, NOW + elapsed)
        assert len(bench.methods()) == reads


@pytest.mark.parametrize(
    ("grace", "pods", "empty", "forced"),
    [("10m", 0, False, False), ("30s", 0, True, False), ("30s", 1, False, True)],
    ids=["grace left", "nothing it owns is left", "a pod is left"],
)
async def test_pods_to_force_are_searched_after_the_grace_period(
    grace: str, pods: int, empty: bool, forced: bool
) -> None:
    items = [gone_pod("a", nodeName="n7")] * pods
    answers = [going(), *([NotFound(404, "NotFound", "no")] * pods), going()]
    lists = [[listed(9, *items)], *([] if pods else [[listed(9)]])]
    bench = Gathering(deleting(PATIENCE, grace=grace), known=facts(), get=answers, lists=lists)
    observation = await bench.observe()
    assert observation.empty == (
        (DeployedObject(JOBS, "train", "j1", True, attempt="1"),) if empty else ()
    )
    assert observation.snapshot.forced_off == (
        ("Pod a on node n7, which no longer exists",) if forced else ()
    )
    assert observation.silent_nodes == (frozenset({"n7"}) if forced else frozenset())


async def test_forced_pods_are_reported_while_one_exists() -> None:
    answers = [going(), NotFound(404, "NotFound", "no"), going()]
    lists = [[listed(9, gone_pod("a", nodeName="n7"))]]
    item = deleting(PATIENCE, grace="30s")
    bench = Gathering(item, known=facts(), pods=RUNNING_PODS, get=answers, lists=lists)
    blockers = ("Pod a on node n7, which no longer exists",)
    for _ in range(2):
        assert (await bench.observe()).snapshot.forced_off == blockers
    bench.cached_pods.value = ()
    assert (await bench.observe()).snapshot.forced_off == ()


async def test_a_refused_delete_is_named_with_its_message() -> None:
    lists = [[listed(9, raw_pod("a", "Running"))]]
    bench = Gathering(deleting(PATIENCE), known=facts(), get=[job(), job()], lists=lists)
    bench.deletions.of("u1").refused["j1"] = 'admission webhook "keep" denied the request'
    bench.deletions.of("u1").refused["a"] = "no"
    assert (await bench.observe()).snapshot.blockers == (
        'Job train may not be deleted: admission webhook "keep" denied the request',
        "Pod a may not be deleted: no",
    )


async def test_pods_of_other_owners_are_no_obstacle() -> None:
    foreign = raw_pod("b", "Running")
    foreign["metadata"]["labels"]["workload.codeflare.dev/uid"] = "u2"
    bench = Gathering(
        deleting(PATIENCE), known=facts(), get=[going(), going()],
        lists=[[listed(9, foreign)], [listed(9)]],
    )  # fmt: skip
    assert (await bench.observe()).snapshot.blockers == (
        "Job train waits for the garbage collector",
    )


async def test_an_object_of_the_same_name_and_another_owner_is_no_obstacle() -> None:
    bench = Gathering(deleting(PATIENCE), known=facts(), get=[job(owner="u2")], lists=[[listed(9)]])
    assert (await bench.observe()).snapshot.gone


async def test_a_kind_that_is_not_served_is_named_while_its_objects_may_exist() -> None:
    bench = Gathering(deleting(PATIENCE), unserved=("batch/Job",), lists=[[listed(9)]])
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.gone, snapshot.blockers) == (
        False,
        ("Job train may exist although its Kind is not served: its CRD is changing",),
    )


async def test_once_none_can_exist_it_is_gone() -> None:
    item = deleting(SECOND)
    bench = Gathering(item, unserved=("batch/Job",), lists=[[listed(9)]], obstacle="")
    assert (await bench.observe()).snapshot.gone


@pytest.mark.parametrize(("obstacle", "gone"), [("", True), ("its CRD is changing", False)])
async def test_objects_of_a_kind_that_is_not_served_must_be_proved_gone(
    obstacle: str, gone: bool
) -> None:
    """The process may have died between the create and its record."""
    item = deleting(SECOND)
    announced = [{"type": "ResourcesDeployed", "status": "Unknown"}]
    item["status"]["componentStatus"][0]["conditions"] = announced
    bench = Gathering(item, unserved=("batch/Job",), lists=[[listed(9)]], obstacle=obstacle)
    assert (await bench.observe()).snapshot.gone is gone


async def test_an_answer_that_is_no_list_is_no_proof() -> None:
    page = replace(listed(9), resource_version="")
    bench = Gathering(deleting(SECOND), get=[NOT_FOUND, NOT_FOUND], lists=[[page]])
    with pytest.raises(Exception, match="no list"):
        await bench.observe()


@pytest.mark.parametrize("call", range(4))
async def test_a_read_that_fails_is_neither_a_proof_nor_an_explanation(call: int) -> None:
    away = Unreachable("away")
    get: list[Any] = [going(), going()]
    lists: list[Any] = [[listed(9)], [listed(9)]]
    target, index = ((get, 0), (lists, 0), (get, 1), (lists, 1))[call]
    target[index] = away
    bench = Gathering(deleting(PATIENCE), known=facts(), get=get, lists=lists)
    with pytest.raises(Unreachable):
        await bench.observe()


async def test_the_memory_of_a_deletion_ends_with_the_proof() -> None:
    bench = Gathering(deleting(SECOND), get=[NOT_FOUND, NOT_FOUND], lists=[[listed(9)]])
    bench.deletions.of("u1").refused["j1"] = "no"
    assert (await bench.observe()).snapshot.gone
    assert bench.deletions.known("u1").refused.get("j1", "") == ""


async def test_pods_are_deployed_as_pods() -> None:
    bench = Gathering(deleting(PATIENCE), get=[NOT_FOUND] * 2, lists=[[listed(9, gone_pod("a"))]])
    observation = await bench.observe()
    deletion_deadline = gone_pod("a")["metadata"]["deletionTimestamp"]
    assert observation.pods == (
        DeployedObject(PODS, "a", "a", True, attempt="1", deletion_deadline=deletion_deadline),
    )
    assert observation.snapshot.blockers == (
        "Pod a is still terminating although its grace period is over: its node has not stopped it",
    )


async def test_obstacles_are_searched_again_once_the_grace_period_is_over() -> None:
    item = deleting(PATIENCE, grace=f"{(PATIENCE + SECOND).total_seconds():.0f}s")
    bench = Gathering(item, known=facts(), get=[going()] * 9, lists=[[listed(9)]] * 9)
    found = []
    for elapsed in (0 * SECOND, SECOND):
        await bench.gather(KEY, NOW + elapsed)
        explanation = bench.memory.deletions.known("u1").explanation
        found.append(explanation and explanation.forcing)
    assert found == [False, True]
