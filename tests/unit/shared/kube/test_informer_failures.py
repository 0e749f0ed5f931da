"""An informer whose server fails, is away, or asks for patience."""

import logging
from typing import Any

import pytest

from shared.kube.client import (
    ApiError,
    CannotConnect,
    Forbidden,
    Gone,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from shared.kube.object_cache import Change
from tests.support.fakes.fake_clock import settle
from tests.support.fakes.fake_kube import WatchFeed, listed
from tests.support.fakes.watching import Watching, assert_delays, key, pod

GONE = Gone(410, "Expired", "too old")


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
        assert not watching.has_synced()
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


async def test_a_server_that_restarts_with_an_older_version_is_listed_again() -> None:
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
async def test_after_another_answer_the_informer_lists_again(error: Exception) -> None:
    watching = Watching([[listed(7)], [listed(8)]], [error, WatchFeed()])
    async with watching.running():
        await watching.clock.advance(0.1)
        assert watching.watched_from == ["7", "8"]


@pytest.mark.parametrize(
    ("error", "lists"),
    [
        pytest.param(TooManyRequests(429, "TooManyRequests", "m", 20.0), 1, id="busy"),
        pytest.param(ApiError(503, "ServiceUnavailable", "m", 20.0), 2, id="starting"),
    ],
)
async def test_the_time_that_the_server_asks_for_is_respected(error: ApiError, lists: int) -> None:
    watching = Watching([[listed(7)], [listed(7)]], [error, WatchFeed()])
    async with watching.running():
        await watching.clock.advance(19.9)
        assert watching.watched_from == ["7"]
        await watching.clock.advance(0.1)
        assert watching.watched_from == ["7", "7"]
        assert watching.lists == lists


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


async def test_before_a_complete_list_the_informer_reports_the_reason() -> None:
    denied = Forbidden(403, "Forbidden", "pods is forbidden")
    watching = Watching([denied, [listed(7)]], [WatchFeed()])
    assert watching.informer.problem() == "the pods are not known yet"
    async with watching.running():
        assert watching.informer.problem() == (
            "the pods are not known yet: 403 Forbidden: pods is forbidden"
        )
        await watching.clock.advance(0.1)
        assert watching.informer.problem() is None


async def test_a_resource_is_unserved_from_a_404_to_the_next_list() -> None:
    denied, away = Forbidden(403, "Forbidden", "no"), NotFound(404, "NotFound", "no such resource")
    feed = WatchFeed()
    watching = Watching([denied, [listed(7)], away, [listed(8)]], [feed, WatchFeed()])
    async with watching.running():
        found = [watching.informer.unserved]
        await watching.clock.advance(0.1)
        feed.fail(away)
        await settle()
        for seconds in (0, 0.2, 1):
            await watching.clock.advance(seconds)
            found.append(watching.informer.unserved)
    assert found == [False, True, True, False]


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


@pytest.mark.parametrize(
    "bookmark", [{}, {"metadata": "x"}, {"metadata": {}}, {"metadata": {"resourceVersion": "new"}}]
)
async def test_an_event_about_nothing_ends_the_watch_and_not_the_informer(bookmark: Any) -> None:
    first, second = WatchFeed(), WatchFeed()
    watching = Watching([[listed(7, pod("a", 3))], [listed(7)]], [first, second])
    async with watching.running():
        first.send("MODIFIED", bookmark)
        await watching.clock.advance(0.1)
        assert watching.watched_from == ["7", "7"]
        second.send("ADDED", pod("b", 8))
        await settle()
        assert watching.known() == {"a": "Running", "b": "Running"}


async def test_a_server_that_sends_the_same_again_and_again_is_not_asked_hot() -> None:
    feeds = [WatchFeed() for _ in range(4)]
    for feed in feeds[:3]:
        feed.send("ADDED", pod("a", 3))
        feed.bookmark(7)
        feed.end()
    watching = Watching([[listed(7, pod("a", 3))]], list(feeds))
    async with watching.running():
        assert watching.watched_from == ["7"]
        await watching.clock.advance(0.1 + 0.2 + 0.4)
        assert len(watching.watched_from) == 4
    assert_delays(watching.clock.slept, [0.1, 0.2, 0.4])
