"""Measures the time from the deletion of AppWrappers with running pods until they are gone."""

import statistics

from bench import objects
from bench.arena import Arena
from bench.load.batch import Batch
from bench.machine import CpuSpent
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
            (await self._delete(arena, contender, f"deleted-{round_number}-{number}", 1))[0]
            for number in range(_SINGLES)
        ]
        self._one.add(contender, statistics.median(alone))
        if round_number == 0:
            seconds, cpu, other_cpu = await self._delete(
                arena, contender, "deleted-many", self._size
            )
            self._many.add(contender, seconds)
            self._cpu.add(contender, cpu * 1_000 / self._size)
            self._other_cpu.add(contender, other_cpu * 1_000 / self._size)

    async def _delete(
        self, arena: Arena, contender: Contender, batch: str, count: int
    ) -> tuple[float, float, float]:
        """Returns seconds until the last is gone, and CPU seconds: of the operator, of the rest."""
        documents = [objects.running(f"{batch}-{number}", batch) for number in range(count)]
        async with Batch(arena.client, batch) as progress:
            names = await progress.start(documents)
            with (
                CpuSpent(arena.process_ids(contender)) as operator,
                CpuSpent(arena.other_process_ids()) as others,
            ):
                seconds = await progress.delete(names)
        await arena.until_empty()
        return seconds, operator.seconds, others.seconds
