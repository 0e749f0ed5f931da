"""Measures the time from the deletion of AppWrappers with running pods until they are gone."""

import statistics

from bench import objects
from bench.arena import Arena
from bench.load.batch import Batch
from bench.machine import usage
from bench.results import Contender, ResultRow, ResultSection, SpeedTarget

_SINGLES = 3


class DeletionPart:
    """Deletes one AppWrapper, and `size` at once in the first round.

    The Go operator takes part in the first round only.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._one = ResultRow(
            "1 running AppWrapper: deletion", "s", (SpeedTarget(0.05, Contender.PEER),)
        )
        self._many = ResultRow(
            f"{size} running AppWrappers: deletion", "s", (SpeedTarget(0.5, Contender.PEER),)
        )
        self._cpu = ResultRow(f"CPU of the operator per deletion, {size} AppWrappers", "ms")
        self._other_cpu = ResultRow(f"CPU of the rest per deletion, {size} AppWrappers", "ms")
        self.section = ResultSection(
            "Deletion while running",
            [self._one, self._many, self._cpu, self._other_cpu],
            [
                "Each AppWrapper wraps a Job of two pods, which run. From the first delete (16 at"
                " once) until a watch reports that the last AppWrapper is gone. Simulated"
                " containers end immediately.",
                f"1 AppWrapper: the median of {_SINGLES}, one after the other, for this operator in"
                f" each round. {size} AppWrappers, and the Go operator: in the first round.",
            ],
        )

    async def run(self, arena: Arena, contender: Contender, round_number: int) -> None:
        """Runs one round of one contender, which is already at work."""
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
            await self._delete_many(arena, contender)

    async def _delete_many(self, arena: Arena, contender: Contender) -> None:
        spent = _Spent(arena, contender)
        self._many.add(contender, await self._delete(arena, "deleted-many", self._size, spent))
        self._cpu.add(contender, spent.operator * 1_000 / self._size)
        self._other_cpu.add(contender, spent.others * 1_000 / self._size)

    async def _delete(
        self, arena: Arena, batch: str, count: int, spent: "_Spent | None" = None
    ) -> float:
        documents = [objects.running(f"{batch}-{number}", batch) for number in range(count)]
        async with Batch(arena.client, batch) as progress:
            names = await progress.start(documents)
            if spent is not None:
                spent.begin()
            seconds = await progress.delete(names)
            if spent is not None:
                spent.end()
        await arena.until_empty()
        return seconds


class _Spent:
    """CPU seconds between `begin` and `end`."""

    def __init__(self, arena: Arena, contender: Contender) -> None:
        self._operator = arena.process_ids(contender)
        self._others = arena.other_process_ids()
        self.operator = self.others = 0.0

    def begin(self) -> None:
        self.operator = usage(self._operator).cpu_seconds
        self.others = usage(self._others).cpu_seconds

    def end(self) -> None:
        self.operator = usage(self._operator).cpu_seconds - self.operator
        self.others = usage(self._others).cpu_seconds - self.others
