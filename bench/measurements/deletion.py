"""From the deletion of AppWrappers whose pods run until they are gone."""

import statistics

from bench import objects
from bench.arena import Arena
from bench.load.progress import Progress
from bench.results import Contender, Row, Section, Target

_SINGLES = 3


class Deletion:
    """One alone, ours in every round; and `size` at once, in the first round only."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._one = Row("1 AppWrapper", "s", Target(0.3))
        self._many = Row(f"{size} AppWrappers", "s", Target(0.25, Contender.PEER))
        self.section = Section(
            "Deletion while running",
            [self._one, self._many],
            [
                "Each AppWrapper wraps a Job of two pods, which run. From the first delete (16 at"
                " once) until a watch says that the last AppWrapper is gone. Simulated containers"
                " end as soon as they are told to.",
                f"1 AppWrapper: the median of {_SINGLES}, one after the other, ours in each round;"
                f" {size}, and the Go operator: in the first round.",
            ],
        )

    async def run(self, arena: Arena, contender: Contender, round_number: int) -> None:
        """One round of one contender, which is at work already."""
        if contender is Contender.PLATFORM:
            return
        if contender is Contender.PEER and round_number > 0:
            return
        alone = [
            await self._delete(arena, f"deleted-{round_number}-{number}", 1)
            for number in range(_SINGLES)
        ]
        self._one.add(contender, statistics.median(alone))
        if round_number == 0:
            self._many.add(contender, await self._delete(arena, "deleted-many", self._size))

    async def _delete(self, arena: Arena, batch: str, count: int) -> float:
        documents = [objects.running(f"{batch}-{number}", batch) for number in range(count)]
        async with Progress(arena.client, batch) as progress:
            names = await progress.start(documents)
            seconds = await progress.delete(names)
        await arena.until_empty()
        return seconds
