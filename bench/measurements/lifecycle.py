"""Measures creation to Succeeded and deletion to gone, and the writes, CPU and memory of both."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from bench import objects
from bench.arena import CONTROLLERS, Arena
from bench.load.batch import Batch
from bench.machine import CpuSpent, usage
from bench.results import Contender, ResultRow, ResultSection, SpeedTarget
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kinds.job import JOBS

_SINGLES = 3
# Larger sizes are measured in the first round only.
_ONCE_ABOVE = 150


class _Rows(NamedTuple):
    """The rows of one size."""

    success: ResultRow
    deletion: ResultRow
    events: ResultRow
    cpu: ResultRow
    other_cpu: ResultRow
    memory: ResultRow
    controller: ResultRow


class Lifecycle:
    """Creates `sizes` AppWrappers at once, each a Job of two pods that succeed at once."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._rows = {size: _rows(size) for size in sizes}
        self.section = ResultSection(
            "Lives of AppWrappers under real Kueue, quota not limiting",
            [
                row
                for of_all_sizes in zip(*self._rows.values(), strict=True)
                for row in of_all_sizes
            ],
            [
                "Each AppWrapper wraps a Job of two pods, which succeed as soon as they run."
                " Measured by a watch, from the first create to the last Succeeded.",
                "Platform: the same Jobs in Kueue, without AppWrappers and operators.",
                f"1 AppWrapper: the median of {_SINGLES}, one after the other, per round. More than"
                f" {_ONCE_ABOVE}: in the first round only.",
                "Watch events: of the AppWrapper (or the plain Job), creation to success,"
                " deletion not included.",
                "CPU of the operator: all its processes, from the first create to the last"
                " Succeeded; CPU of the rest: API server, etcd, Kueue, schedulers, KWOK.",
                "Resident memory: of all processes of the operator. The Go operator has one"
                " process; it counts as its controller, too.",
            ],
        )

    async def run(self, arena: Arena, contender: Contender, round_number: int) -> None:
        """Runs one round of one contender, which is already at work."""
        await self._warm_up(arena, contender, round_number)
        for size, rows in self._rows.items():
            if size == 1:
                await self._singles(arena, contender, round_number, rows)
            elif round_number == 0 or size <= _ONCE_ABOVE:
                await self._many(arena, contender, round_number, size, rows)

    async def _warm_up(self, arena: Arena, contender: Contender, round_number: int) -> None:
        """Runs one life that does not count: it fills connections and caches."""
        batch = f"warm-{round_number}"
        async with _lives(arena, contender, batch) as lives:
            await lives.run([_document(contender, batch, 0)])
            await lives.delete([f"{batch}-0"])
        await arena.until_empty()

    async def _singles(
        self, arena: Arena, contender: Contender, round_number: int, rows: _Rows
    ) -> None:
        batch = f"single-{round_number}"
        names = [f"{batch}-{number}" for number in range(_SINGLES)]
        async with _lives(arena, contender, batch) as lives:
            seconds = []
            for number in range(_SINGLES):
                seconds.append(await lives.run([_document(contender, batch, number)]))
                await lives.settle()
            rows.success.add(contender, statistics.median(seconds))
            if operator := arena.process_ids(contender):
                rows.memory.add(contender, usage(operator).resident_mib)
                rows.controller.add(contender, _controller_mib(arena, contender))
            rows.events.add(contender, statistics.median(lives.events.values()))
            rows.deletion.add(contender, await lives.delete(names[:1]))
            await lives.delete(names[1:])
        await arena.until_empty()

    async def _many(
        self, arena: Arena, contender: Contender, round_number: int, size: int, rows: _Rows
    ) -> None:
        batch = f"many{size}-{round_number}"
        documents = [_document(contender, batch, number) for number in range(size)]
        operator = arena.process_ids(contender)
        async with _lives(arena, contender, batch) as lives:
            with CpuSpent(operator) as own, CpuSpent(arena.other_process_ids()) as others:
                rows.success.add(contender, await lives.run(documents))
            resident = usage(operator).resident_mib
            controller = _controller_mib(arena, contender) if operator else 0
            await lives.settle()
            rows.events.add(contender, statistics.mean(lives.events.values()))
            rows.other_cpu.add(contender, others.seconds * 1_000 / size)
            if operator:
                rows.cpu.add(contender, own.seconds * 1_000 / size)
                rows.memory.add(contender, resident)
                rows.controller.add(contender, controller)
            names = [each["metadata"]["name"] for each in documents]
            rows.deletion.add(contender, await lives.delete(names))
        await arena.until_empty()


def _rows(size: int) -> _Rows:
    many = f"{size} AppWrapper{'s' if size > 1 else ''}"
    peer, platform = Contender.PEER, Contender.PLATFORM
    alone = (SpeedTarget(0.05, platform, beyond=True),)
    together = (SpeedTarget(0.7, peer), SpeedTarget(1.4, platform))
    return _Rows(
        success=ResultRow(f"{many}: created to Succeeded", "s", together if size > 1 else alone),
        deletion=ResultRow(
            f"{many}: deletion once Succeeded", "s", (SpeedTarget(0.5, peer),) if size > 1 else ()
        ),
        events=ResultRow(f"watch events per life, {many}", "events", (SpeedTarget(5),)),
        cpu=ResultRow(f"CPU of the operator per life, {many}", "ms", (SpeedTarget(1, peer),)),
        other_cpu=ResultRow(
            f"CPU of the rest per life, {many}", "ms", (SpeedTarget(1.4, platform),)
        ),
        memory=ResultRow(f"resident memory after {many}", "MiB"),
        controller=ResultRow(
            f"resident memory of the controller after {many}",
            "MiB",
            (SpeedTarget(1.2, peer),) if size > 1 else (),
        ),
    )


def _controller_mib(arena: Arena, contender: Contender) -> float:
    return usage([arena.cluster.processes[CONTROLLERS[contender]].pid]).resident_mib


def _lives(arena: Arena, contender: Contender, batch: str) -> Batch:
    return Batch(arena.client, batch, JOBS if contender is Contender.PLATFORM else APPWRAPPERS)


def _document(contender: Contender, batch: str, number: int) -> JsonObject:
    create = objects.job if contender is Contender.PLATFORM else objects.wrapped_job
    return create(f"{batch}-{number}", batch, objects.QUEUE)
