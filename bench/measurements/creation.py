"""How long the API server takes to create an AppWrapper, 16 at once, under each contender."""

from bench import objects
from bench.arena import Arena
from bench.load.creations import AT_ONCE, create_all
from bench.load.lives import Lives, appwrapper_end
from bench.results import Contender, Row, Section, Target
from bench.statistics import percentile
from shared.kube.resource import APPWRAPPERS


class Creation:
    """Creates `count` AppWrappers in a queue that admits nothing, and deletes them again."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._p50 = Row("create, p50", "ms", Target(1.3, Contender.PLATFORM))
        self._p99 = Row("create, p99", "ms")
        self.section = Section(
            f"Creation through the API server, {AT_ONCE} at once",
            [self._p50, self._p99],
            [
                f"{count} AppWrappers of one Job each per round, in a queue that admits nothing;"
                " Kueue and its webhooks are at work for all three.",
                "platform: neither operator's webhooks are registered, neither controller runs.",
                "Only the Go operator asks the API server for the user's permission on each.",
            ],
        )

    async def run(self, arena: Arena, contender: Contender, round_number: int) -> None:
        """One round of one contender, which is at work already."""
        batch = f"create-{round_number}"
        documents = [
            objects.wrapped_job(f"{batch}-{number}", batch, objects.HELD_QUEUE)
            for number in range(self._count)
        ]
        async with Lives(arena.client, APPWRAPPERS, batch, appwrapper_end) as lives:
            latencies = await create_all(arena.client, APPWRAPPERS, documents)
            self._p50.add(contender, percentile(latencies, 50))
            self._p99.add(contender, percentile(latencies, 99))
            await lives.settle()
            lives.expect(documents)
            await lives.delete([each["metadata"]["name"] for each in documents])
        await arena.until_empty()
