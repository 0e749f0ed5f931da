"""Counts status writes of an AppWrapper whose pod crashes and starts every second."""

import asyncio

from bench import objects
from bench.arena import Arena
from bench.load.batch import READY, Batch
from bench.results import Contender, ResultRow, ResultSection, SpeedTarget

_DESIGN_SECONDS = 300
_DESIGN_WRITES = 10


class Flapping:
    """Watches one such AppWrapper of our operator for `seconds`, in the first round only."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._writes = ResultRow(
            f"status writes in {seconds} s of a pod that crashes every second",
            "writes",
            (SpeedTarget(writes_allowed(seconds)),),
        )
        self.section = ResultSection(
            "A pod that flaps",
            [self._writes],
            [
                "A Job of one pod whose container runs for half a second, fails, and is started"
                " again half a second later. Counted from the moment it first ran, by a watch.",
                f"The design allows {_DESIGN_WRITES} in {_DESIGN_SECONDS} s; a shorter time gets"
                " its share.",
            ],
        )

    async def run(self, arena: Arena, contender: Contender, round_number: int) -> None:
        """Runs one round of one contender, which is already at work."""
        if contender is not Contender.OURS or round_number > 0:
            return
        batch = "flapping"
        document = objects.flapping(batch, batch)
        async with Batch(arena.client, batch) as progress:
            await progress.create([document])
            await progress.reached([batch], READY)
            before = progress.events[batch]
            await asyncio.sleep(self._seconds)
            self._writes.add(contender, progress.events[batch] - before)
            await progress.delete([batch])
        await arena.until_empty()


def writes_allowed(seconds: int) -> int:
    """Scales the limit for five minutes to `seconds`."""
    return max(1, round(_DESIGN_WRITES * seconds / _DESIGN_SECONDS))
