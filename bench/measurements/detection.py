"""Measures the time from a fault to the phase that answers it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from bench import objects
from bench.arena import Arena
from bench.load.batch import Batch
from bench.load.faults import delete_job, fail_pod, label_node, unlabel_nodes
from bench.results import Contender, ResultRow, ResultSection, SpeedTarget
from bench.statistics import percentile
from shared.api.objects import JsonObject
from shared.kube.client import KubeClient

# The Go operator reconciles each AppWrapper once a minute.
_PEER_PERIOD = 60.0
PEER_SAMPLES = 3
# The deletions that an answer causes are mostly over before the next fault.
_PAUSE = 0.1
_WHOLE_NODE = 8  # GPUs: no two AppWrappers share a node that is tagged
_MOST_NODES = 8

BreakIt = Callable[[KubeClient, str], Awaitable[float]]


@dataclass(slots=True)
class InjectedFault:
    """One kind of fault, and the milliseconds that each contender took to answer each sample."""

    name: str
    key: str
    answer: str
    break_it: BreakIt
    targets: tuple[SpeedTarget, ...] = ()
    pods: int = 2
    gpus: int = 0
    taken: dict[Contender, list[float]] = field(default_factory=dict)

    def document(self, batch: str, number: int) -> JsonObject:
        name = f"{batch}-{number}"
        return objects.running(name, batch, pods=self.pods, gpus=self.gpus)

    def rows(self) -> list[ResultRow]:
        """Returns p50 for both; a p99 of the Go operator's few samples would mean nothing."""
        p50 = ResultRow(f"{self.name} to {self.answer}, p50", "ms", self.targets)
        p99 = ResultRow(f"{self.name} to {self.answer}, p99", "ms")
        for contender, taken in self.taken.items():
            p50.add(contender, percentile(taken, 50))
            if contender is Contender.OURS:
                p99.add(contender, percentile(taken, 99))
        return [p50, p99]

    async def measure(self, arena: Arena, progress: Batch, name: str, contender: Contender) -> None:
        """Breaks one AppWrapper, and waits for the answer."""
        began = await self.break_it(arena.client, name)
        seconds = await progress.reached([name], self.answer) - began
        self.taken.setdefault(contender, []).append(seconds * 1_000)


def eviction(targets: tuple[SpeedTarget, ...] = ()) -> InjectedFault:
    """Returns the fault that a node is labelled: no two AppWrappers share a node."""
    return InjectedFault(
        "EVICT label", "node", "Resetting", label_node, targets, pods=1, gpus=_WHOLE_NODE
    )


def _faults() -> tuple[InjectedFault, ...]:
    soon = (SpeedTarget(50),)
    return (
        InjectedFault("failed pod", "pod", "Resetting", fail_pod, soon),
        eviction(soon),
        InjectedFault("component deleted by another client", "component", "Failed", delete_job),
    )


async def one_by_one(arena: Arena, fault: InjectedFault, batch: str, count: int) -> None:
    """Breaks `count` AppWrappers of our operator, one after the other."""
    most = _MOST_NODES if fault.gpus else count
    for start in range(0, count, most):
        numbers = range(start, min(start + most, count))
        async with Batch(arena.client, batch) as progress:
            names = await progress.start([fault.document(batch, number) for number in numbers])
            for name in names:
                await fault.measure(arena, progress, name, Contender.OURS)
                await asyncio.sleep(_PAUSE)
            await unlabel_nodes(arena.client)
            await progress.delete(names)
        await arena.until_empty()


async def over_a_minute(arena: Arena, faults: Sequence[InjectedFault], batch: str) -> None:
    """Breaks AppWrappers of the Go operator, in each way some, spread evenly over a minute."""
    numbered = list(enumerate(fault for fault in faults for _ in range(PEER_SAMPLES)))

    async def later(progress: Batch, number: int, fault: InjectedFault) -> None:
        share = (number % PEER_SAMPLES + 0.5) / PEER_SAMPLES
        await asyncio.sleep(share * _PEER_PERIOD)
        await fault.measure(arena, progress, f"{batch}-{number}", Contender.PEER)

    async with Batch(arena.client, batch) as progress:
        documents = [fault.document(batch, number) for number, fault in numbered]
        names = await progress.start(documents)
        async with asyncio.TaskGroup() as group:
            for number, fault in numbered:
                group.create_task(later(progress, number, fault))
        await unlabel_nodes(arena.client)
        await progress.delete(names)
    await arena.until_empty()


class Detection:
    """Breaks `samples` AppWrappers a round in each way, one after the other, on a quiet cluster.

    The Go operator takes part in the first round only: it needs up to a minute for each fault.
    """

    def __init__(self, samples: int) -> None:
        self._samples = samples
        self._faults = _faults()

    @property
    def section(self) -> ResultSection:
        """Returns the samples of all rounds together."""
        counts = ", ".join(
            f"{fault.name} {len(fault.taken.get(Contender.OURS, ()))}" for fault in self._faults
        )
        return ResultSection(
            "Detection, grace periods 0s",
            [row for fault in self._faults for row in fault.rows()],
            [
                "From just before the request that breaks something until a watch shows the"
                f" AppWrapper's new phase. This operator's samples, one after the other: {counts}.",
                f"The Go operator checks each AppWrapper once a minute: {PEER_SAMPLES} of each"
                " fault, spread evenly over a minute, in the first round.",
            ],
        )

    async def run(self, arena: Arena, contender: Contender, round_number: int) -> None:
        """Runs one round of one contender, which is already at work."""
        if contender is Contender.OURS:
            for fault in self._faults:
                await one_by_one(arena, fault, f"{fault.key}-{round_number}", self._samples)
        elif contender is Contender.PEER and round_number == 0:
            await over_a_minute(arena, self._faults, "peer-detection")
