"""What success is concluded from, and that pods which ended well count when they are gone."""

from dataclasses import replace

from controller.facts.pods import project_pod
from controller.phases.ask import Need
from controller.phases.snapshot import PodCounts
from controller.phases.success_and_stragglers import has_succeeded
from tests.support.builders.gathering import (
    COMPLETE,
    KEY,
    NOW,
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
    raw_pod,
)
from tests.support.fakes.fake_kube import listed

ENDED_PODS = tuple(project_pod(raw_pod(name, "Succeeded")) for name in ("a", "b"))
ENDED_LIVE = listed(9, raw_pod("a", "Succeeded"), raw_pod("b", "Succeeded"))


async def test_success_is_concluded_from_one_live_list() -> None:
    bench = Gathering(
        appwrapper("Running"), known=facts(**COMPLETE), pods=ENDED_PODS, lists=[[ENDED_LIVE]]
    )
    assert has_succeeded((await bench.observe()).snapshot)
    assert bench.methods() == ["pages"]


async def test_a_pod_before_its_watch_event_prevents_success() -> None:
    late = listed(9, *ENDED_LIVE.items, raw_pod("c", "Running"))
    bench = Gathering(
        appwrapper("Running"), known=facts(**COMPLETE), pods=ENDED_PODS, lists=[[late]]
    )
    snapshot = (await bench.observe()).snapshot
    assert not has_succeeded(snapshot)
    assert snapshot.pods.stragglers == 1


async def test_a_success_that_only_the_cache_still_has_counts_beside_a_live_list() -> None:
    pods = (ENDED_PODS[0], replace(RUNNING_PODS[1], phase="Failed"))
    live = listed(9, raw_pod("b", "Failed"))
    bench = Gathering(appwrapper("Running"), known=facts(), pods=pods, lists=[[live]])
    observation = await bench.gather(KEY, NOW, {Need.LIVE_PODS})
    assert observation is not None
    assert observation.snapshot.pods == PodCounts(
        expected=2, succeeded=1, failed=1, failed_named="b"
    )
    assert observation.snapshot.labelled_pods == 1


async def test_a_success_that_is_gone_counts_as_long_as_the_attempt_lasts() -> None:
    bench = Gathering(appwrapper("Running"), known=facts(), pods=RUNNING_PODS[1:])
    bench.memory.sightings.see_success(ENDED_PODS[0])
    assert (await bench.observe()).snapshot.pods == PodCounts(expected=2, running=1, succeeded=1)
    later = Gathering(appwrapper("Running", attempt=2), known=facts(attempt="2"))
    later.memory.sightings.see_success(ENDED_PODS[0])
    assert (await later.observe()).snapshot.pods == PodCounts(expected=2)


async def test_after_a_restart_a_component_reports_its_success() -> None:
    bench = Gathering(appwrapper("Running"), known=facts(succeeded=1), pods=RUNNING_PODS[1:])
    assert (await bench.observe()).snapshot.pods == PodCounts(expected=2, running=1, succeeded=1)


async def test_success_is_not_believed_while_pods_are_unaccounted_for() -> None:
    """The pod watch may lag behind the Job's; the quota must not go back meanwhile."""
    live = listed(9, raw_pod("a", "Succeeded"), raw_pod("b", "Running"))
    bench = Gathering(
        appwrapper("Running"), known=facts(**COMPLETE), pods=RUNNING_PODS[:1], lists=[[live]]
    )
    assert (await bench.observe()).snapshot.pods == PodCounts(unawaited=1, stragglers=1)
    (call,) = bench.kube.called("pages")
    assert call.kwargs == {"label_selector": "workload.codeflare.dev/appwrapper=train"}
