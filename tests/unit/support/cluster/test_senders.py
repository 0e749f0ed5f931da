"""How a load follows the pace of its answers."""

import asyncio

import pytest

from tests.support.cluster.senders import pause_after, send_steadily
from tests.support.fakes.fake_clock import FakeClock


@pytest.mark.parametrize(
    ("took", "pause"),
    [(0.1, 1.9), (1.2, 0.8), (1.5, 1.0), (2.5, 2.0), (10.0, 9.5)],
)
def test_a_slow_answer_is_followed_by_a_longer_pause(took: float, pause: float) -> None:
    assert pause_after(took, period=2.0) == pytest.approx(pause)


def test_a_prompt_sender_that_is_late_goes_on_at_once() -> None:
    assert pause_after(0.4, period=0.2) == 0.0


@pytest.mark.parametrize(
    ("answers_after", "began"),
    [
        (0.1, [0, 0.5, 1, 1.5, 2, 2.5]),  # at the full rate
        (3.0, [0, 0.5, 5.5, 6, 11, 11.5]),  # each sender rests before its next request
    ],
)
async def test_requests_follow_their_answers_and_nothing_catches_up(
    answers_after: float, began: list[float]
) -> None:
    clock = FakeClock()
    times: list[float] = []

    async def send(number: int) -> None:
        assert number == len(times)
        times.append(clock.monotonic())
        await clock.sleep(answers_after)

    sending = send_steadily(send, rate=2.0, senders=2, goes_on=lambda n: n < 6, clock=clock)
    async with asyncio.TaskGroup() as group:
        group.create_task(sending)
        for _ in range(200):
            await clock.advance(0.1)
    assert times == pytest.approx(began)
