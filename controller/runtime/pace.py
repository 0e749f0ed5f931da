"""How many passes begin at once, so that a busy API server is not made busier.

While it is busy, a pass that waits in our queue gathers what happens meanwhile: one decision, and
one write, then stand for several. A pass that waits in the API server's queue gathers nothing.
Measured with a hundred AppWrappers at once on two cores: three passes at a time cost a tenth less
CPU in all than thirty-two, and the last AppWrapper ended no later.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Final

from shared.clock import Clock

# That many, each a few requests long, keep an API server busy that answers in milliseconds.
AT_ONCE: Final = 3
# Seconds after which a pass no longer counts: it waits for something that others need not wait for.
SLOW: Final = 1.0


class Pace:
    """Lets `at_once` passes work; one that takes longer than `slow` seconds makes room for another.

    Whoever wants to work waits for `room`, then either works or gives the room back.
    """

    def __init__(self, clock: Clock, *, at_once: int = AT_ONCE, slow: float = SLOW) -> None:
        self._clock = clock
        self._at_once = at_once
        self._slow = slow
        self._free = at_once
        self._turns = count()
        # Turn -> when it stops to count. In the order of both.
        self._counted: dict[int, float] = {}
        # One waits for room, the others for that one: a wake-up is for one only.
        self._turnstile = asyncio.Lock()
        self._changed = asyncio.Event()

    async def room(self) -> None:
        """Returns once there is some; it is then taken."""
        async with self._turnstile:
            while not self._has_room():
                self._changed.clear()
                with suppress(TimeoutError):
                    async with self._clock.timeout(self._until_slow()):
                        await self._changed.wait()
            self._free -= 1

    def give_back(self) -> None:
        """There was nothing to do."""
        self._free += 1
        self._changed.set()

    @contextmanager
    def work(self) -> Iterator[None]:
        """The pass, in the room that was waited for."""
        turn = next(self._turns)
        self._counted[turn] = self._clock.monotonic() + self._slow
        try:
            yield
        finally:
            if self._counted.pop(turn, None) is not None:
                self.give_back()

    def _has_room(self) -> bool:
        now = self._clock.monotonic()
        for turn in [turn for turn, until in self._counted.items() if until <= now]:
            del self._counted[turn]
            self._free += 1
        return self._free > 0

    def _until_slow(self) -> float:
        """Until the oldest pass no longer counts. Without any, somebody will give room back."""
        if not self._counted:
            return self._slow
        return next(iter(self._counted.values())) - self._clock.monotonic()
