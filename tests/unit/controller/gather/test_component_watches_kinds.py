"""How long a Kind is watched, and what ends the process."""

import asyncio
from typing import Any

import pytest

from controller.gather.component_caches import UNUSED, UNUSED_AND_UNSEEN
from shared.kube.client import Forbidden, NotFound
from tests.support.cluster.resources import JOBS, SERVICES
from tests.support.fakes.component_watching import WatchingBench, ensured_in_vain, owned, until_idle
from tests.support.fakes.fake_kube import WatchFeed, listed

JOBS_INFORMER = "informer of batch/v1 jobs"
# The sweep that finds a Kind unused may come this much later, in seconds.
LATE = 31.0


async def test_the_watch_of_an_unused_kind_ends_and_restarts_with_its_use() -> None:
    bench = WatchingBench([listed(5)], [listed(8, owned(7))])
    await bench.watches.ensure(JOBS)
    await bench.clock.advance(UNUSED - 1)
    assert bench.informers() == [JOBS_INFORMER]
    await bench.clock.advance(1 + LATE)
    assert bench.informers() == []
    assert not bench.watches.is_watched(JOBS)
    bench.kube.watches.append(WatchFeed())
    await bench.watches.ensure(JOBS)
    assert bench.known() is not None
    assert bench.woken == [("team1", "train")]
    await bench.end()


async def test_being_asked_for_is_being_used() -> None:
    bench = WatchingBench([listed(5)])
    await bench.watches.ensure(JOBS)
    for _ in range(3):
        await bench.clock.advance(UNUSED - LATE - 1)
        await bench.watches.ensure(JOBS)
    assert bench.informers() == [JOBS_INFORMER]
    await bench.end()


async def test_as_long_as_an_appwrapper_with_an_object_lives_its_kind_is_watched() -> None:
    bench = WatchingBench([listed(5, owned(4))])
    await bench.watches.ensure(JOBS)
    await bench.clock.advance(10 * UNUSED)
    assert bench.informers() == [JOBS_INFORMER]
    assert [each.resource for each in bench.caches.all] == [JOBS]
    bench.alive.clear()
    await bench.clock.advance(LATE)
    assert bench.informers() == []
    assert bench.caches.all == []
    await bench.end()


async def test_a_list_that_never_came_is_given_up_sooner() -> None:
    bench = WatchingBench(*[Forbidden(403, "Forbidden", "no")] * 40)
    await ensured_in_vain(bench)
    await bench.clock.advance(UNUSED_AND_UNSEEN - 6)
    assert bench.informers() == [JOBS_INFORMER]
    await bench.clock.advance(6 + LATE)
    assert bench.informers() == []
    asked = len(bench.kube.calls)
    await bench.clock.advance(UNUSED)
    assert len(bench.kube.calls) == asked
    await bench.end()


async def test_the_watch_of_an_unused_kind_that_is_not_served_ends_sooner() -> None:
    missing = NotFound(404, "Unknown", "the answer is not a Status")
    bench = WatchingBench([listed(5)], *[missing] * 40)
    await bench.watches.ensure(JOBS)
    await bench.clock.advance(UNUSED_AND_UNSEEN)
    assert bench.informers() == [JOBS_INFORMER]
    bench.feed.fail(missing)
    await bench.clock.advance(LATE)
    assert bench.informers() == []
    assert len(bench.kube.called("pages")) < 20
    await bench.end()


async def test_a_kind_that_is_not_served_is_watched_no_longer_until_it_is_again() -> None:
    bench = WatchingBench([listed(5, owned(4))], [listed(5)], [listed(9)])
    bench.kube.watches += [WatchFeed(), WatchFeed()]
    await bench.watches.ensure(JOBS)
    await bench.watches.ensure(SERVICES)
    bench.watches.not_served(JOBS.gvk)
    await until_idle()
    assert bench.informers() == ["informer of v1 services"]
    assert bench.known() is None
    await bench.watches.ensure(JOBS)
    assert bench.watches.is_watched(JOBS)
    await bench.end()


async def test_no_informer_outlives_the_part() -> None:
    bench = WatchingBench([listed(5)])
    await bench.watches.ensure(JOBS)
    await bench.end()
    assert bench.informers() == []


async def test_a_bug_in_an_informer_ends_the_process() -> None:
    """Half a controller is worse than none."""
    bench = WatchingBench([listed(5)])
    await until_idle()  # it waits already, for other informers
    await bench.watches.ensure(JOBS)
    nameless: Any = {"metadata": {"namespace": "team1", "uid": "u", "resourceVersion": "6"}}
    bench.feed.send("ADDED", nameless)
    with pytest.raises(KeyError):
        await asyncio.wait_for(bench.running, 30)
