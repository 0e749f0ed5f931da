import asyncio
import weakref
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest

from shared.api.objects import PODS
from shared.kube.client import ListPage, Unreachable
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from tests.support.fakes.fake_clock import fake_sources, settle
from tests.support.fakes.fake_kube import FakeKube, WatchFeed, kube_object, listed
from tests.support.fakes.watching import Watching, key, pod


async def test_lists_page_by_page_then_watches_from_there() -> None:
    feed = WatchFeed()
    watching = Watching([[listed(7, pod("a", 3)), listed(7, pod("b", 4))]], [feed])
    assert not watching.has_synced()
    async with watching.running():
        await watching.informer.wait_synced()
        assert watching.informer.synced
        assert watching.known() == {"a": "Running", "b": "Running"}
        assert watching.changes == [
            Change(key("a"), None, "Running"),
            Change(key("b"), None, "Running"),
        ]
        assert watching.watched_from == ["7"]


async def test_the_list_has_the_given_selectors() -> None:
    watching = Watching(
        [[listed(7)]],
        [WatchFeed()],
        namespace="team1",
        label_selector="x=y",
        field_selector="metadata.name=a",
        metadata_only=True,
        page_size=50,
        watch_seconds=2.0,
    )
    async with watching.running():
        (of_list,) = watching.client.called("pages")
        (of_watch,) = watching.client.called("watch")
    assert of_list.args == of_watch.args == (PODS, "team1")
    selected = {"label_selector": "x=y", "field_selector": "metadata.name=a"}
    asked = {**selected, "metadata_only": True}
    assert of_list.kwargs == {**asked, "page_size": 50}
    assert of_watch.kwargs == {**asked, "resource_version": "7", "seconds": 2.0}


async def test_items_of_a_list_are_given_their_kind() -> None:
    raw = pod("a", 3)
    async with Watching([[listed(7, raw)]], [WatchFeed()]).running():
        assert (raw["apiVersion"], raw["kind"]) == ("v1", "Pod")


class Raw(dict[str, Any]):
    """An object as decoded, of which can be told whether it is still in memory."""


class Counting(FakeKube):
    """Lists ten pages of ten pods, and counts how many of them were in memory at once."""

    most = 0

    async def pages(self, *_: Any, **__: Any) -> AsyncGenerator[ListPage, None]:
        seen: list[weakref.ref[Raw]] = []
        for first in range(0, 100, 10):
            page = listed(200, *(Raw(pod(f"p{first + each}", 1)) for each in range(10)))
            seen += [weakref.ref(cast(Raw, item)) for item in page.items]
            self.most = max(self.most, sum(each() is not None for each in seen))
            yield page
            del page


async def test_only_projections_of_a_long_list_stay_in_memory() -> None:
    client = Counting(watches=[WatchFeed()])
    pods = Informer(client, PODS, transform=lambda raw: str(raw["phase"]), sources=fake_sources())
    running = asyncio.create_task(pods.run())
    await pods.wait_synced()
    assert len(pods) == 100
    # The page in hand, and the next one that is being read.
    assert client.most <= 20
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_watch_events_change_the_cache_then_call_the_handlers() -> None:
    feed = WatchFeed()
    watching = Watching([[listed(7, pod("a", 3))]], [feed])
    seen = []
    watching.informer.add_handler(lambda change: seen.append(watching.known()))
    last = pod("a", 10, "Succeeded")
    async with watching.running():
        feed.send("ADDED", pod("b", 8))
        feed.send("MODIFIED", pod("a", 9, "Failed"))
        feed.send("DELETED", last)
        await settle()
    assert watching.changes[1:] == [
        Change(key("b"), None, "Running"),
        Change(key("a"), "Running", "Failed"),
        Change(key("a"), "Failed", None, last),
    ]
    assert seen == [
        {"a": "Running"},
        {"a": "Running", "b": "Running"},
        {"a": "Failed", "b": "Running"},
        {"b": "Running"},
    ]


async def test_a_watch_that_ends_well_goes_on_from_the_last_event_or_bookmark_at_once() -> None:
    first, second, third = WatchFeed(), WatchFeed(), WatchFeed()
    watching = Watching([[listed(7)]], [first, second, third])
    async with watching.running():
        first.send("ADDED", pod("a", 12))
        first.end()
        await settle()
        second.bookmark(40)
        second.end()
        await settle()
        assert watching.watched_from == ["7", "12", "40"]
        assert watching.clock.slept == []
        assert watching.lists == 1


async def test_a_quiet_watch_that_lasted_is_a_good_one() -> None:
    first, second = WatchFeed(), WatchFeed()
    watching = Watching([[listed(7)]], [first, second])
    async with watching.running():
        await watching.clock.advance(5)
        first.end()
        await settle()
        assert watching.watched_from == ["7", "7"]
        assert watching.clock.slept == []


async def test_an_answer_of_the_server_is_progress_and_a_failure_is_none() -> None:
    """A list, an event, a bookmark and the end of a watch that lasted."""
    first, second = WatchFeed(), WatchFeed()
    watching = Watching([Unreachable("no"), [listed(7)]], [first, second])
    began, progressed = watching.clock.monotonic(), []

    async def answered() -> float:
        await watching.clock.advance(10)
        return watching.informer.progressed - began

    async with watching.running():
        assert watching.informer.progressed == began
        await watching.clock.advance(1)
        progressed.append(await answered())
        first.send("ADDED", pod("a", 12))
        progressed.append(await answered())
        first.bookmark(40)
        progressed.append(await answered())
        first.end()
        progressed.append(await answered())
        progressed.append(await answered())
    listing = progressed[0]
    assert 0 < listing <= 1
    assert progressed[1:] == [11, 21, 31, 31]


async def test_our_own_write_is_known_at_once_and_not_undone_by_late_news() -> None:
    feed = WatchFeed()
    watching = Watching([[listed(7, pod("a", 3, "Pending"))]], [feed])
    async with watching.running():
        watching.informer.assume(pod("a", 12, "ours"))
        assert watching.informer.get("team1", "a") == "ours"
        feed.send("MODIFIED", pod("a", 9, "late"))
        feed.send("MODIFIED", pod("a", 12, "ours"))
        await settle()
        assert watching.informer.get("team1", "a") == "ours"
    assert watching.changes[1:] == [Change(key("a"), "Pending", "ours")]


async def test_a_silent_observation_calls_no_handler() -> None:
    watching = Watching([[listed(7, pod("a", 3))]], [WatchFeed()])
    async with watching.running():
        watching.informer.assume(pod("a", 12, "ours"), silent=True)
        assert watching.informer.get("team1", "a") == "ours"
    assert len(watching.changes) == 1


async def test_an_answer_slower_than_the_watch_makes_no_ghost() -> None:
    feed = WatchFeed()
    watching = Watching([[listed(7)]], [feed])
    async with watching.running():
        feed.send("ADDED", pod("a", 9))
        feed.send("DELETED", pod("a", 10))
        await settle()
        watching.informer.assume(pod("a", 9))
        assert watching.known() == {}


async def test_indexes() -> None:
    watching = Watching(
        [[listed(7, pod("a", 3), pod("b", 4, "Failed"))]],
        [WatchFeed()],
        indexes={"phase": lambda phase: [phase]},
    )
    async with watching.running():
        assert watching.informer.indexed("phase", "Failed") == [(key("b"), "Failed")]
        assert watching.informer.indexed("phase", "Pending") == []
        assert len(watching.informer) == 2


async def test_an_object_that_cannot_be_projected_ends_the_informer() -> None:
    """Better no controller than one that does not see a pod."""
    odd = kube_object("odd", 3)
    watching = Watching([[listed(7, odd)]], [])
    with pytest.raises(KeyError, match="phase"):
        async with watching.running():
            await settle()
