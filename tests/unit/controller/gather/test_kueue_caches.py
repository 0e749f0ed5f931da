"""When Kueue's objects are watched, and what one term of leadership leaves to the next."""

import pytest

from controller.phases.snapshot import Queueing
from tests.support.fakes.queue_watching import (
    ALL,
    CONSIDERED,
    GONE,
    KEY,
    NO,
    OLDER,
    SERVED,
    local_queue,
    watching,
    workload,
)

ABSENT = Queueing(workload=False, unmanaged="Kueue is not installed in this cluster")


async def test_a_term_that_ended_hears_nothing_and_the_next_one_has_its_caches() -> None:
    async with watching(*ALL) as seen:
        seen.caches.drop_handlers()
        assert await seen.changed("workloads", workload(12, "other words")) == []
        seen.watch = seen.another_term()
        found = await seen.look()
        assert found is not None
        assert found.pending == "other words"
        assert await seen.changed("localqueues", local_queue(15, stopPolicy="Hold")) == [KEY]
        assert seen.kueue.called("get") == []


async def test_a_kueue_that_comes_wakes_no_term_that_ended() -> None:
    async with watching(*ALL, get_path=[GONE, SERVED]) as seen:
        seen.woken.clear()
        seen.caches.drop_handlers()
        await seen.clock.advance(1)
        assert await seen.changed("localqueues", local_queue(15, stopPolicy="Hold")) == []
        seen.watch = seen.another_term()
        assert await seen.look() is not None


async def test_without_kueue_it_is_looked_for_now_and_then() -> None:
    async with watching(*ALL, get_path=[GONE] * 6 + [SERVED]) as seen:
        assert (await seen.look(), seen.woken) == (ABSENT, [KEY])
        assert list(seen.caches.all) == []
        await seen.clock.advance(29)
        assert await seen.look() == ABSENT
        await seen.clock.advance(120)
        assert await seen.look() == CONSIDERED
        watched = [each.resource.plural for each in seen.caches.all]
        assert watched == ["workloads", "localqueues", "clusterqueues"]
        assert max(seen.clock.slept) <= 30


async def test_nothing_is_known_while_the_api_cannot_be_read() -> None:
    async with watching(*ALL, get_path=[NO, SERVED]) as seen:
        assert await seen.look() is None
        await seen.clock.advance(1)
        assert await seen.look() == CONSIDERED


async def test_a_kueue_without_v1beta2_is_not_read(caplog: pytest.LogCaptureFixture) -> None:
    async with watching(*ALL, get_path=[OLDER, SERVED]) as seen:
        assert await seen.look() is None
        assert (list(seen.caches.all), seen.kueue.versions) == ([], set())
        warnings = [each.getMessage() for each in caplog.records]
        assert warnings == ["the installed Kueue does not serve v1beta2"]
        await seen.clock.advance(1)
        assert await seen.look() == CONSIDERED
        assert seen.kueue.versions == {"v1beta2"}


async def test_a_kueue_without_v1beta2_leaves_the_report_that_there_is_none() -> None:
    """Nothing wakes an AppWrapper then, so what it reports must stay what is known."""
    async with watching(*ALL, get_path=[GONE, OLDER, SERVED]) as seen:
        assert await seen.look() == ABSENT
        await seen.clock.advance(1)
        assert len(seen.kueue.called("get_path")) == 2
        assert await seen.look() == ABSENT
        seen.woken.clear()
        await seen.clock.advance(2)
        assert (await seen.look(), seen.woken) == (CONSIDERED, [KEY])


async def test_a_kueue_that_goes_is_looked_for_again() -> None:
    async with watching(*ALL, get_path=[SERVED, GONE, GONE, GONE]) as seen:
        seen.kueue.refuses = GONE
        for feed in seen.kueue.feeds.values():
            feed.fail(NO)
        await seen.clock.advance(3)
        assert await seen.look() == ABSENT


async def test_a_kind_that_its_group_lacks_is_listed_again_with_growing_pauses() -> None:
    """As while Kueue is being installed: the API server serves the group before all Kinds."""
    async with watching(*ALL, get_path=[SERVED] * 40) as seen:
        seen.kueue.refuses = GONE
        for feed in seen.kueue.feeds.values():
            feed.fail(NO)
        await seen.clock.advance(300)
        assert len(seen.kueue.called("get_path")) <= 20
        assert max(seen.clock.slept) > 15
        assert await seen.look() is None
        seen.kueue.refuses = None
        await seen.clock.advance(30)
        assert await seen.look() == CONSIDERED
