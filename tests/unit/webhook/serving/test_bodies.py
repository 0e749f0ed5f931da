"""Bodies that come together: who gets the room, who waits, and who gives way."""

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from tests.support.fakes.fake_clock import settle
from webhook.serving.bodies import (
    MOST_JUDGED,
    SMALL,
    BodyBudget,
    BodyLimits,
    BodyTooLarge,
    DecodeQueue,
    UploadEvicted,
)

MOST = 10 * SMALL
ROOM = 3 * SMALL  # beyond what every body has anyway


class Sender:
    """Sends a body in parts, of multiples of SMALL."""

    def __init__(self, bodies: BodyBudget) -> None:
        self._bodies = bodies
        self._parts: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.read = asyncio.create_task(self._read())
        self.answered = asyncio.Event()

    async def _read(self) -> int:
        request = Request({"type": "http", "headers": []}, self._parts.get)
        with self._bodies.upload() as upload:
            body = await upload.read(request, MOST)
            await self.answered.wait()
            return len(body)

    async def send(self, parts: int, *, last: bool = False) -> None:
        body = b"x" * (parts * SMALL)
        await self._parts.put({"type": "http.request", "body": body, "more_body": not last})
        await settle()

    async def end(self) -> int:
        self.answered.set()
        return await self.read


@pytest.fixture
def bodies() -> BodyBudget:
    return BodyBudget(ROOM)


async def test_small_bodies_take_no_room(bodies: BodyBudget) -> None:
    senders = [Sender(bodies) for _ in range(20)]
    for each in senders:
        await each.send(1, last=True)
    assert [await each.end() for each in senders] == [SMALL] * 20


async def test_an_unfinished_one_gives_way_the_oldest_first(bodies: BodyBudget) -> None:
    first, second, third = (Sender(bodies) for _ in range(3))
    await first.send(2)
    await second.send(3)
    await third.send(2, last=True)
    with pytest.raises(
        UploadEvicted, match=r"^the body came too slowly for the room that there is$"
    ):
        await first.read
    await second.send(0, last=True)
    assert (await second.end(), await third.end()) == (3 * SMALL, 2 * SMALL)


async def test_an_expired_upload_is_evicted_without_harm_to_the_new_one(
    bodies: BodyBudget,
) -> None:
    silent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    request = Request({"type": "http", "headers": []}, silent.get)
    with bodies.upload() as upload:
        reading = asyncio.create_task(upload.read(request, MOST))
        await settle()
        upload.evict()
        await asyncio.sleep(0)
        upload.evict()
        with pytest.raises(UploadEvicted):
            await reading


async def test_complete_ones_do_not_give_way_so_others_wait_for_their_answers(
    bodies: BodyBudget,
) -> None:
    complete, other = Sender(bodies), Sender(bodies)
    await complete.send(4, last=True)
    await other.send(2, last=True)
    assert not other.read.done()
    assert await complete.end() == 4 * SMALL
    assert await other.end() == 2 * SMALL


async def test_an_aborted_upload_releases_its_bytes(bodies: BodyBudget) -> None:
    for _ in range(5):
        gone = Sender(bodies)
        await gone.send(4)
        gone.read.cancel()
        await asyncio.gather(gone.read, return_exceptions=True)
    too_large, after = Sender(bodies), Sender(bodies)
    await too_large.send(11)
    with pytest.raises(BodyTooLarge):
        await too_large.read
    await after.send(4, last=True)
    assert await after.end() == 4 * SMALL


async def test_large_reviews_are_decoded_one_after_the_other() -> None:
    turns, order = DecodeQueue(10), list[int]()

    async def judge(number: int, size: int, until: asyncio.Event) -> None:
        async with turns.turn(size):
            order.append(number)
            await until.wait()

    ends = [asyncio.Event() for _ in range(4)]
    async with asyncio.TaskGroup() as judged:
        for number, size in enumerate((6, 4, 6, 1)):
            judged.create_task(judge(number, size, ends[number]))
        await settle()
        # The fourth would fit in, but then the third could wait for ever.
        assert order == [0, 1]
        ends[1].set()
        await settle()
        assert order == [0, 1]
        ends[0].set()
        await settle()
        assert order == [0, 1, 2, 3]
        for end in ends:
            end.set()


async def test_between_two_large_ones_others_are_answered() -> None:
    """Each is judged in one go, which may take a tenth of a second."""
    turns, order = DecodeQueue(10, rounds=3), list[str]()

    async def judge() -> None:
        async with turns.turn(1):
            order.append("large")

    async def answer() -> None:
        for _ in range(8):
            order.append("small")
            await asyncio.sleep(0)

    await asyncio.gather(judge(), judge(), answer())
    first, second = (place for place, each in enumerate(order) if each == "large")
    assert order[first + 1 : second].count("small") >= 3


async def hold(turns: DecodeQueue, until: asyncio.Event) -> None:
    async with turns.turn(10):
        await until.wait()


async def test_a_review_aborted_between_steps_releases_its_bytes() -> None:
    turns = DecodeQueue(10, rounds=3)
    beginning = asyncio.create_task(hold(turns, asyncio.Event()))
    await asyncio.sleep(0)
    beginning.cancel()
    await asyncio.gather(beginning, return_exceptions=True)
    async with turns.turn(10):
        pass


async def test_a_review_that_waits_too_long_gets_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = DecodeQueue(10)
    monkeypatch.setattr("webhook.serving.bodies.LONGEST_LINE", 0.0)
    async with turns.turn(10):
        with pytest.raises(UploadEvicted, match=r"^too many large requests are being checked$"):
            async with turns.turn(1):
                pass
    async with turns.turn(10):
        pass


async def test_a_review_that_leaves_the_line_delays_no_other() -> None:
    turns, until = DecodeQueue(10), asyncio.Event()
    first = asyncio.create_task(hold(turns, until))
    await settle()
    line = [asyncio.create_task(hold(turns, until)) for _ in range(3)]
    await settle()
    line[0].cancel()
    until.set()  # the second's turn, which is cancelled before it knows
    line[1].cancel()
    await settle()
    assert [each.done() for each in (first, *line)] == [True] * 4
    assert not line[2].cancelled()


def test_the_largest_body_fits_in_and_small_ones_do_not_wait_for_large_ones() -> None:
    limits = BodyLimits()
    large, small = limits.queue(b"x" * (SMALL + 1)), limits.queue(b"x" * SMALL)
    assert large is not small
    assert MOST_JUDGED >= 7 << 20
