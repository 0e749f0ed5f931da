"""Who was in the middle of making pods may make one more after its owner is gone."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.gather.deletion_proof import SETTLING, STILL_SETTLING
from tests.support.builders.gathering import (
    KEY,
    NOT_FOUND,
    NOW,
    RUNNING_PODS,
    Bench,
    appwrapper,
    facts,
    raw_pod,
)
from tests.support.fakes.fake_kube import listed

DELETING = ("QuotaReserved", "ResourcesDeployed", "DeletingResources")
SECOND = timedelta(seconds=1)


def interrupted(*ready: str, **recorded: Any) -> dict[str, Any]:
    item = appwrapper("Suspending", *DELETING, *ready)
    item["status"]["componentStatus"][0] |= recorded
    return item


def gone_for(item: dict[str, Any], looks: int, *pods: Any, **known: Any) -> Bench:
    """Every look finds nothing, save that the lists have these pods, in order."""
    lists = [[listed(9, *found)] for found in pods] or [[listed(9)]] * looks
    return Bench(item, get=[NOT_FOUND] * 2 * looks, lists=lists, **known)


async def test_what_was_interrupted_has_to_stay_gone_for_a_while() -> None:
    bench = gone_for(interrupted(), 4)
    for elapsed, left in ((0, 3), (1, 2), (2.5, 0.5), (3, None)):
        observation = await bench.gatherer.gather(KEY, NOW + elapsed * SECOND)
        assert observation is not None
        assert observation.snapshot.gone is (left is None)
        assert observation.look_again == (None if left is None else left * SECOND)


async def test_a_pod_that_comes_meanwhile_begins_it_anew() -> None:
    late = (raw_pod("late", "Pending"),)
    bench = gone_for(interrupted(), 4, (), late, (), ())
    found = []
    for elapsed in (0, 2, 4, 4 + 3):
        observation = await bench.gatherer.gather(KEY, NOW + elapsed * SECOND)
        assert observation is not None
        found.append((observation.snapshot.gone, observation.snapshot.labelled_pods))
    assert found == [(False, 0), (False, 1), (False, 0), (True, 0)]


async def test_a_pod_that_only_a_cache_shows_begins_it_anew_as_well() -> None:
    bench = gone_for(interrupted(), 3)
    await bench.gatherer.gather(KEY, NOW)
    ending = replace(RUNNING_PODS[0], deleting=True)  # the garbage collector saw it first
    found = []
    for elapsed, pods in ((2, (ending,)), (4, ()), (4 + 3, ())):
        bench.cached_pods.value = pods
        observation = await bench.gatherer.gather(KEY, NOW + elapsed * SECOND)
        assert observation is not None
        found.append((observation.snapshot.gone, observation.snapshot.labelled_pods))
    assert found == [(False, 1), (False, 0), (True, 0)]


async def test_a_clock_that_goes_back_prolongs_it_by_no_more_than_itself() -> None:
    bench = gone_for(interrupted(), 2)
    await bench.gatherer.gather(KEY, NOW)
    observation = await bench.gatherer.gather(KEY, NOW - timedelta(hours=1))
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
async def test_nobody_waits_where_nobody_makes_pods(item: dict[str, Any]) -> None:
    bench = Bench(item, get=[NOT_FOUND] * 2, lists=[[listed(9)]], obstacle="")
    assert (await bench.observe()).snapshot.gone


async def test_nobody_waits_once_all_pods_were_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = gone_for(interrupted(), 1, known=facts(), pods=RUNNING_PODS)
    assert not (await bench.observe()).snapshot.gone
    monkeypatch.setattr(bench.watches, "known", lambda *_: None)
    bench.cached_pods.value = ()
    assert (await bench.observe()).snapshot.gone


async def test_nobody_waits_again_where_the_proof_could_not_be_written_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = gone_for(interrupted(), 2, known=facts(), pods=RUNNING_PODS)
    await bench.observe()
    monkeypatch.setattr(bench.watches, "known", lambda *_: None)
    bench.cached_pods.value = ()
    for _ in range(2):
        assert (await bench.observe()).snapshot.gone


async def test_an_overdue_deletion_says_what_it_still_waits_for() -> None:
    item = interrupted()
    item["metadata"]["annotations"] = {
        "workload.codeflare.dev.appwrapper/forcefulDeletionGracePeriodDuration": "0s"
    }
    stamp = {"phase": "Suspending", "attempt": 1, "resettingCount": 0}
    item["status"]["timers"] = {"forcefulDeletion": {"began": "2026-01-01T00:00:00Z", **stamp}}
    observation = await gone_for(item, 1).observe()
    assert observation.snapshot.blockers == (STILL_SETTLING,)
    assert observation.look_again == SETTLING


async def test_that_the_awaited_pods_are_ready_says_nothing_of_helpers() -> None:
    item = interrupted("PodsReady")
    item["spec"]["components"][0]["annotations"] = {
        "workload.codeflare.dev.appwrapper/helper": "true"
    }
    assert (await gone_for(item, 1).observe()).look_again == SETTLING
