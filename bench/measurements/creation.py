"""Measures creates of an AppWrapper through the API server, 16 at once, under each contender."""

from collections.abc import Callable

from bench import objects
from bench.arena import Arena
from bench.load.batch import Batch
from bench.load.requests import AT_ONCE, create_all
from bench.results import Contender, ResultRow, ResultSection, SpeedTarget
from bench.statistics import percentile
from shared.api.objects import APPWRAPPERS, JsonObject

MakeObject = Callable[[str, str, str], JsonObject]
"""Returns an AppWrapper with a name, a batch and a queue."""


class Creation:
    """Creates `count` AppWrappers in a queue that admits nothing, and deletes them again.

    Once such that the controllers leave alone, so that admission is what differs; once as they are.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        peer = SpeedTarget(0.9, Contender.PEER)
        self._alone = (
            ResultRow(
                "create, controllers idle, p50", "ms", (peer, SpeedTarget(1.3, Contender.PLATFORM))
            ),
            ResultRow("create, controllers idle, p99", "ms"),
        )
        self._followed = (
            ResultRow(
                "create, controllers at work, p50",
                "ms",
                (peer, SpeedTarget(1.8, Contender.PLATFORM)),
            ),
            ResultRow("create, controllers at work, p99", "ms"),
        )
        self.section = ResultSection(
            f"Creation through the API server, {AT_ONCE} at once",
            [*self._alone, *self._followed],
            [
                f"{count} AppWrappers of one Job each, in a queue that admits nothing; Kueue and"
                " its webhooks run for all three.",
                "Platform: no operator's webhooks are registered, and neither controller runs.",
                "Controllers idle: spec.managedBy names another controller, so both operators"
                " ignore the AppWrappers. At work: the controllers reconcile the first AppWrappers"
                " while the client creates the others.",
            ],
        )

    async def run(self, arena: Arena, contender: Contender, round_number: int) -> None:
        """Runs one round of one contender, which is already at work."""
        # A fresh process pays once for connections, caches and code that never ran.
        await self._create(arena, f"warm-{round_number}", objects.left_alone, AT_ONCE)
        for name, make, rows in (
            ("idle", objects.left_alone, self._alone),
            ("work", objects.wrapped_job, self._followed),
        ):
            latencies = await self._create(arena, f"{name}-{round_number}", make, self._count)
            for row, percent in zip(rows, (50, 99), strict=True):
                row.add(contender, percentile(latencies, percent))

    async def _create(self, arena: Arena, batch: str, make: MakeObject, count: int) -> list[float]:
        """Returns milliseconds for each of `count`, which are gone again on return."""
        documents = [
            make(f"{batch}-{number}", batch, objects.HELD_QUEUE) for number in range(count)
        ]
        async with Batch(arena.client, batch) as created:
            latencies = await create_all(arena.client, APPWRAPPERS, documents)
            await created.settle()
            await created.delete([each["metadata"]["name"] for each in documents])
        await arena.until_empty()
        return latencies
