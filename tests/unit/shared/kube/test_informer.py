import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from shared.kube.client import ListPage
from shared.kube.errors import (
    ApiError,
    CannotConnect,
    Forbidden,
    Gone,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from shared.kube.resource import PODS
from tests.builders.fake_clock import FakeClock, settle
from tests.builders.fake_kube import FakeKube, WatchFeed, kube_object, listed

GONE = Gone(410, "Expired", "too old")


def pod(name: str, version: int, phase: str = "Running", **more: Any) -> dict[str, Any]:
    return kube_object(name, version, phase=phase, **more)


def key(name: str) -> tuple[str, str]:
    return ("team1", name)


class Watching:
    """An informer over a scripted client; its changes, its clock and its watches."""

    def __init__(
        self,
        lists: list[list[ListPage] | BaseException],
        watches: list[WatchFeed | BaseException],
        **options: Any,
    ) -> None:
        self.client = FakeKube(lists=lists, watches=watches)
        self.clock = FakeClock()
        self.changes: list[Change[str]] = []
        self.informer: Informer[str] = Informer(
            self.client, PODS, project=lambda raw: raw["phase"], clock=self.clock, **options
        )
        self.informer.add_handler(self.changes.append)

    @property
    def watched_from(self) -> list[str]:
        return [call.kwargs["resource_version"] for call in self.client.called("watch")]

    @property
    def lists(self) -> int:
        return len(self.client.called("list_pages")) - self.comparisons

    @property
    def comparisons(self) -> int:
        """How often it only asked for the server's version."""
        sizes = [call.kwargs.get("page_size") for call in self.client.called("list_pages")]
        return sizes.count(1)

    def known(self) -> dict[str, str]:
        return {name: phase for (_, name), phase in self.informer.items()}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.informer.run())
        await settle()
        try:
            yield
            if task.done():
                await task
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def test_lists_page_by_page_then_watches_from_there() -> None:
    feed = WatchFeed()
    watching = Watching([[listed(7, pod("a", 3)), listed(7, pod("b", 4))]], [feed])
    assert not watching.informer.synced
    async with watching.running():
        await watching.informer.wait_synced()
        assert watching.informer.synced
        assert watching.known() == {"a": "Running", "b": "Running"}
        assert watching.changes == [
            Change(key("a"), None, "Running"),
            Change(key("b"), None, "Running"),
        ]
        assert watching.watched_from == ["7"]


async def test_it_asks_for_what_it_was_told_to() -> None:
    watching = Watching(
        [[listed(7)]],
        [WatchFeed()],
        namespace="team1",
        label_selector="x=y",
        field_selector="metadata.name=a",
        metadata_only=True,
    )
    async with watching.running():
        (of_list,) = watching.client.called("list_pages")
        (of_watch,) = watching.client.called("watch")
    assert of_list.args == of_watch.args == (PODS, "team1")
    selected = {"label_selector": "x=y", "field_selector": "metadata.name=a"}
    asked = {**selected, "metadata_only": True}
    assert of_list.kwargs == asked
    assert of_watch.kwargs == {**asked, "resource_version": "7"}


async def test_items_of_a_list_are_given_their_kind() -> None:
    raw = pod("a", 3)
    async with Watching([[listed(7, raw)]], [WatchFeed()]).running():
        assert (raw["apiVersion"], raw["kind"]) == ("v1", "Pod")


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


async def test_a_watch_that_ends_at_once_is_not_repeated_hot() -> None:
    feeds = [WatchFeed() for _ in range(4)]
    for feed in feeds[:3]:
        feed.end()
    watching = Watching([[listed(7)]], list(feeds))
    async with watching.running():
        assert watching.watched_from == ["7"]
        await watching.clock.advance(0.1)
        assert watching.watched_from == ["7", "7"]
        await watching.clock.advance(0.2)
        await watching.clock.advance(0.4)
        assert len(watching.watched_from) == 4
    assert_delays(watching.clock.slept, [0.1, 0.2, 0.4])


async def test_a_quiet_watch_that_lasted_is_a_good_one() -> None:
    first, second = WatchFeed(), WatchFeed()
    watching = Watching([[listed(7)]], [first, second])
    async with watching.running():
        await watching.clock.advance(5)
        first.end()
        await settle()
        assert watching.watched_from == ["7", "7"]
        assert watching.clock.slept == []


async def test_410_lists_again_and_finds_what_was_missed() -> None:
    first, second = WatchFeed(), WatchFeed()
    watching = Watching(
        [
            [listed(7, pod("a", 3), pod("b", 4), pod("c", 5))],
            [listed(90, pod("b", 4), pod("c", 60, "Failed"), pod("d", 70))],
        ],
        [first, second],
    )
    async with watching.running():
        first.fail(GONE)
        await settle()
        assert watching.lists == 1
        await watching.clock.advance(0.1)
        assert watching.lists == 2
        assert watching.watched_from == ["7", "90"]
        assert watching.changes[3:] == [
            Change(key("c"), "Running", "Failed"),
            Change(key("d"), None, "Running"),
            Change(key("a"), "Running", None),
        ]


async def test_410_again_and_again_is_not_hot() -> None:
    watching = Watching([[listed(7)] for _ in range(5)], [GONE] * 5)
    async with watching.running():
        for _ in range(8):
            await watching.clock.advance(0.1)
    # 0.8 s have passed: at least 0.05 + 0.1 + 0.2 s were waited for the first three.
    assert watching.lists <= 4
    assert_delays(watching.clock.slept[:3], [0.1, 0.2, 0.4])


async def test_410_in_the_middle_of_a_list_lists_again() -> None:
    feed = WatchFeed()
    pages: list[Any] = [listed(7, pod("a", 3)), GONE]
    watching = Watching([pages, [listed(9, pod("b", 8))]], [feed])
    async with watching.running():
        assert not watching.informer.synced
        assert watching.known() == {"a": "Running"}
        await watching.clock.advance(0.1)
        assert watching.informer.synced
        assert watching.known() == {"b": "Running"}
        assert watching.watched_from == ["9"]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(Unreachable("refused"), id="refused"),
        pytest.param(CannotConnect("no token"), id="without credentials"),
    ],
)
async def test_no_answer_watches_on_from_the_same_version(error: Exception) -> None:
    now = [listed(9, pod("a", 3))]
    watching = Watching([[listed(7)], now, now], [error, error, WatchFeed()])
    async with watching.running():
        assert watching.watched_from == ["7"]
        await watching.clock.advance(0.1)
        await watching.clock.advance(0.2)
        assert watching.watched_from == ["7", "7", "7"]
        assert (watching.lists, watching.comparisons) == (1, 2)
        assert watching.informer.synced
        # What was only compared is not taken in: the watch brings it.
        assert watching.known() == {}
    assert_delays(watching.clock.slept, [0.1, 0.2])


async def test_a_server_that_comes_back_older_is_listed_again() -> None:
    watching = Watching(
        [[listed(700, pod("a", 600, "future"))], [listed(50)], [listed(50, pod("a", 40, "past"))]],
        [Unreachable("x"), WatchFeed()],
    )
    async with watching.running():
        await watching.clock.advance(0.1)
        assert watching.known() == {"a": "past"}
        assert watching.watched_from == ["700", "50"]
        assert (watching.lists, watching.comparisons) == (2, 1)


async def test_a_comparison_without_an_answer_is_made_again() -> None:
    watching = Watching(
        [[listed(7)], Unreachable("y"), [listed(7)]], [Unreachable("x"), WatchFeed()]
    )
    async with watching.running():
        await watching.clock.advance(0.1)
        assert watching.watched_from == ["7"]
        await watching.clock.advance(0.2)
        assert watching.watched_from == ["7", "7"]
        assert (watching.lists, watching.comparisons) == (1, 2)


async def test_a_busy_server_keeps_its_watch() -> None:
    busy = TooManyRequests(429, "TooManyRequests", "m")
    watching = Watching([[listed(7)]], [busy, WatchFeed()])
    async with watching.running():
        await watching.clock.advance(0.1)
        assert watching.watched_from == ["7", "7"]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ApiError(504, "Timeout", "Too large resource version"), id="the future"),
        pytest.param(Unauthorized(401, "Unauthorized", "m"), id="unauthorized"),
        pytest.param(Forbidden(403, "Forbidden", "m"), id="forbidden"),
    ],
)
async def test_another_answer_begins_anew_with_a_list(error: Exception) -> None:
    watching = Watching([[listed(7)], [listed(8)]], [error, WatchFeed()])
    async with watching.running():
        await watching.clock.advance(0.1)
        assert watching.watched_from == ["7", "8"]


async def test_a_busy_server_s_time_is_respected() -> None:
    busy = TooManyRequests(429, "TooManyRequests", "m", 20.0)
    watching = Watching([[listed(7)]], [busy, WatchFeed()])
    async with watching.running():
        await watching.clock.advance(19.9)
        assert watching.watched_from == ["7"]
        await watching.clock.advance(0.1)
        assert watching.watched_from == ["7", "7"]


async def test_an_unreachable_server_is_waited_for_with_growing_delays(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    refused = Unreachable("GET /api/v1/pods: refused")
    watching = Watching([*[refused] * 12, [listed(7)]], [WatchFeed()])
    async with watching.running():
        await watching.clock.advance(100)
        assert watching.informer.synced
    delays = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10, 10, 10, 10, 10]
    assert_delays(watching.clock.slept, delays)
    assert len(caplog.records) == 12
    assert caplog.messages[0].startswith("pods: GET /api/v1/pods: refused; again in ")


async def test_progress_makes_the_next_delay_short_again() -> None:
    broken = Unreachable("x")
    feed = WatchFeed()
    watching = Watching([*[broken] * 5, [listed(7)]], [feed, WatchFeed()])
    async with watching.running():
        await watching.clock.advance(10)
        feed.bookmark(8)
        feed.fail(broken)
        await settle()
    assert_delays(watching.clock.slept[-1:], [0.1])


async def test_our_own_write_is_known_at_once_and_not_undone_by_late_news() -> None:
    feed = WatchFeed()
    watching = Watching([[listed(7, pod("a", 3, "Pending"))]], [feed])
    async with watching.running():
        watching.informer.observe(pod("a", 12, "ours"))
        assert watching.informer.get("team1", "a") == "ours"
        feed.send("MODIFIED", pod("a", 9, "late"))
        feed.send("MODIFIED", pod("a", 12, "ours"))
        await settle()
        assert watching.informer.get("team1", "a") == "ours"
    assert watching.changes[1:] == [Change(key("a"), "Pending", "ours")]


async def test_a_silent_observation_calls_nobody() -> None:
    watching = Watching([[listed(7, pod("a", 3))]], [WatchFeed()])
    async with watching.running():
        watching.informer.observe(pod("a", 12, "ours"), silent=True)
        assert watching.informer.get("team1", "a") == "ours"
    assert len(watching.changes) == 1


async def test_an_answer_slower_than_the_watch_makes_no_ghost() -> None:
    feed = WatchFeed()
    watching = Watching([[listed(7)]], [feed])
    async with watching.running():
        feed.send("ADDED", pod("a", 9))
        feed.send("DELETED", pod("a", 10))
        await settle()
        watching.informer.observe(pod("a", 9))
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


def assert_delays(slept: list[float], longest: list[float]) -> None:
    """Each delay lies between half of the longest and the longest."""
    assert len(slept) == len(longest)
    for delay, limit in zip(slept, longest, strict=True):
        assert limit / 2 <= delay <= limit
