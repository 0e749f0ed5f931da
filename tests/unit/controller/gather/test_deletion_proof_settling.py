"""Who makes pods, or makes them anew, may make one more after its owner is gone."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.gather.deletion_proof import SETTLING
from controller.reports.deleting_resources import STILL_SETTLING
from tests.support.builders.gathering import (
    KEY,
    NOT_FOUND,
    NOW,
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
    of_kind,
    raw_pod,
)
from tests.support.cluster.resources import DEPLOYMENTS
from tests.support.fakes.fake_kube import listed

DELETING = ("QuotaReserved", "ResourcesDeployed", "DeletingResources")
SECOND = timedelta(seconds=1)


def interrupted(*ready: str, **recorded: Any) -> dict[str, Any]:
    item = appwrapper("Suspending", *DELETING, *ready)
    item["status"]["componentStatus"][0] |= recorded
    return item


def gone_for(item: dict[str, Any], looks: int, *pods: Any, **known: Any) -> Gathering:
    """Every look finds nothing, save that the lists have these pods, in order."""
    lists = [[listed(9, *found)] for found in pods] or [[listed(9)]] * looks
    return Gathering(item, get=[NOT_FOUND] * 2 * looks, lists=lists, **known)


async def test_after_an_interrupted_create_absence_must_last() -> None:
    bench = gone_for(interrupted(), 4)
    for elapsed, left in ((0, 3), (1, 2), (2.5, 0.5), (3, None)):
        observation = await bench.gather(KEY, NOW + elapsed * SECOND)
        assert observation is not None
        assert observation.snapshot.gone is (left is None)
        assert observation.look_again == (None if left is None else left * SECOND)


async def test_a_pod_that_appears_meanwhile_restarts_the_wait() -> None:
    late = (raw_pod("late", "Pending"),)
    bench = gone_for(interrupted(), 4, (), late, (), ())
    found = []
    for elapsed in (0, 2, 4, 4 + 3):
        observation = await bench.gather(KEY, NOW + elapsed * SECOND)
        assert observation is not None
        found.append((observation.snapshot.gone, observation.snapshot.labelled_pods))
    assert found == [(False, 0), (False, 1), (False, 0), (True, 0)]


async def test_a_pod_that_only_a_cache_shows_restarts_the_wait() -> None:
    bench = gone_for(interrupted(), 3)
    await bench.gather(KEY, NOW)
    ending = replace(RUNNING_PODS[0], deleting=True)  # the garbage collector saw it first
    found = []
    for elapsed, pods in ((2, (ending,)), (4, ()), (4 + 3, ())):
        bench.cached_pods.value = pods
        observation = await bench.gather(KEY, NOW + elapsed * SECOND)
        assert observation is not None
        found.append((observation.snapshot.gone, observation.snapshot.labelled_pods))
    assert found == [(False, 1), (False, 0), (True, 0)]


async def test_a_clock_that_is_set_to_the_past_prolongs_the_wait_once() -> None:
    bench = gone_for(interrupted(), 2)
    await bench.gather(KEY, NOW)
    observation = await bench.gather(KEY, NOW - timedelta(hours=1))
    assert observation is not None
    assert observation.look_again == SETTLING


@pytest.mark.parametrize(
    "item",
    [
        interrupted("PodsReady"),
        interrupted(kind="Pod", apiVersion="batch/v1"),
        interrupted(podSets=[]),
        interrupted(conditions=[{"type": "ResourcesDeployed", "status": "False"}]),
    ],
    ids=["its pods ran", "a pod makes no pods", "without pods", "never created"],
)
async def test_without_pods_no_wait_is_needed(item: dict[str, Any]) -> None:
    bench = Gathering(item, get=[NOT_FOUND] * 2, lists=[[listed(9)]], obstacle="")
    assert (await bench.observe()).snapshot.gone


async def test_once_all_pods_were_observed_no_wait_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = gone_for(interrupted(), 1, known=facts(), pods=RUNNING_PODS)
    assert not (await bench.observe()).snapshot.gone
    monkeypatch.setattr(bench.watches, "known", lambda *_: None)
    bench.cached_pods.value = ()
    assert (await bench.observe()).snapshot.gone


@pytest.mark.parametrize(("attempt", "gone"), [(1, True), (2, False)])
async def test_pods_of_another_attempt_that_were_all_observed_end_no_wait(
    attempt: int, gone: bool
) -> None:
    bench = gone_for(interrupted(), 1)
    bench.memory.deletions.of("u1").complete = attempt
    assert (await bench.observe()).snapshot.gone is gone


async def test_a_failed_status_write_does_not_restart_the_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = gone_for(interrupted(), 2, known=facts(), pods=RUNNING_PODS)
    await bench.observe()
    monkeypatch.setattr(bench.watches, "known", lambda *_: None)
    bench.cached_pods.value = ()
    for _ in range(2):
        assert (await bench.observe()).snapshot.gone


# All pods of a Deployment were ready once. What becomes of it is for others to say.


def gone_deployment(*lists: Any, deleting: bool | None, attempt: str = "1") -> Gathering:
    """No look finds it, or pods. A watch saw it last `deleting` or not, or (None) never."""
    item = of_kind(interrupted("PodsReady"), apiVersion="apps/v1", kind="Deployment")
    looks = [each for found in lists for each in ([listed(9, *found)], [listed(9)])]
    bench = Gathering(item, get=[NOT_FOUND] * len(lists), lists=looks)
    bench.served.more = bench.watches.more = (DEPLOYMENTS,)
    if deleting is not None:
        last = replace(facts(attempt=attempt), deleting=deleting)
        bench.memory.of("u1").deleted["apps/Deployment", "train"] = last
    return bench


async def waits(bench: Gathering, elapsed: float) -> timedelta | None:
    """For how long it goes on doubting; None where all is proved to be gone."""
    observation = await bench.gather(KEY, NOW + elapsed * SECOND)
    assert observation is not None
    assert observation.snapshot.gone is (observation.look_again is None)
    return observation.look_again


async def test_after_an_unobserved_deletion_absence_must_last() -> None:
    """Its pods went at that moment, and whoever sees them go makes them anew until he knows."""
    bench = gone_deployment((), (), (), deleting=False)
    found = [await waits(bench, elapsed) for elapsed in (0, 2.5, 3)]
    assert found == [3 * SECOND, 0.5 * SECOND, None]


@pytest.mark.parametrize(
    ("deleting", "attempt", "waited"),
    [
        (True, "1", None),
        (True, "", None),
        (True, "7", SETTLING),
        (False, "1", SETTLING),
        (None, "1", SETTLING),
    ],
    ids=["on its way out", "as the Go operator's", "of another attempt", "there", "never seen"],
)
async def test_after_an_observed_deletion_no_wait_is_needed(
    deleting: bool | None, attempt: str, waited: timedelta | None
) -> None:
    assert await waits(gone_deployment((), deleting=deleting, attempt=attempt), 0) == waited


async def test_a_job_holds_its_pods_until_it_knows() -> None:
    bench = Gathering(interrupted("PodsReady"), get=[NOT_FOUND], lists=[[listed(9)]])
    bench.memory.of("u1").deleted["batch/Job", "train"] = facts()
    assert await waits(bench, 0) is None


async def test_after_an_orphaning_absence_must_last() -> None:
    """It goes together with its pods. Its component was seen to go, but it did not go with it."""
    labels = {"workload.codeflare.dev/uid": "u1"}
    orphan = {
        "metadata": {"name": "train-abc", "uid": "r1"},
        "spec": {"template": {"metadata": {"labels": labels}}},
    }
    bench = gone_deployment((orphan,), (), (), (), deleting=True)
    first = await bench.gather(KEY, NOW)
    assert first is not None
    assert [each.name for each in first.deployed] == ["train-abc"]
    found = [await waits(bench, elapsed) for elapsed in (1, 3.5, 4)]
    assert found == [3 * SECOND, 0.5 * SECOND, None]


async def test_an_overdue_deletion_reports_the_wait() -> None:
    item = interrupted()
    item["metadata"]["annotations"] = {
        "workload.codeflare.dev.appwrapper/forcefulDeletionGracePeriodDuration": "0s"
    }
    stamp = {"phase": "Suspending", "attempt": 1, "resettingCount": 0}
    item["status"]["timers"] = {"forcefulDeletion": {"began": "2026-01-01T00:00:00Z", **stamp}}
    observation = await gone_for(item, 1).observe()
    assert observation.snapshot.blockers == (STILL_SETTLING,)
    assert observation.look_again == SETTLING


async def test_readiness_of_awaited_pods_proves_nothing_about_helpers() -> None:
    item = interrupted("PodsReady")
    item["spec"]["components"][0]["annotations"] = {
        "workload.codeflare.dev.appwrapper/helper": "true"
    }
    assert (await gone_for(item, 1).observe()).look_again == SETTLING
