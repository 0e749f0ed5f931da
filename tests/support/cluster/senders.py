"""Sends requests at a steady pace, and more slowly where answers are slow."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Final

from shared.process.clock import Clock, SystemClock

PROMPT_SECONDS: Final = 0.5
"""A slower answer says that the machine is full."""


def pause_after(took: float, period: float) -> float:
    """Return the seconds until a sender's next request; `period` is its usual distance.

    A slow answer is followed by a pause of almost its own length. So requests do not pile up on a
    busy machine, where the API server would not answer the webhook in time.
    """
    return max(period - took, took - PROMPT_SECONDS, 0.0)


async def send_steadily(
    send: Callable[[int], Awaitable[None]],
    *,
    rate: float,
    senders: int,
    goes_on: Callable[[int], bool],
    clock: Clock | None = None,
) -> None:
    """Call `send` with 0, 1, … at most `rate` times a second until `goes_on` is false of a number.

    Each sender waits for its answer. There is no timetable: a late request delays the next ones,
    and nothing catches up.
    """
    clock = clock or SystemClock()
    numbers = itertools.count()

    async def sender(begins: float) -> None:
        await clock.sleep(begins)
        while goes_on(number := next(numbers)):
            began = clock.monotonic()
            await send(number)
            await clock.sleep(pause_after(clock.monotonic() - began, senders / rate))

    async with asyncio.TaskGroup() as group:
        for place in range(senders):
            group.create_task(sender(place / rate))
