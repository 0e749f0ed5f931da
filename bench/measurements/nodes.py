"""Measures a large cluster: how soon a node's label is acted upon, and the cost of heartbeats."""

import asyncio
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Final

from bench.arena import CONTROLLERS, Arena
from bench.load.kubelets import Kubelets
from bench.machine import CpuSpent, usage
from bench.measurements.detection import eviction, one_by_one, over_a_minute
from bench.plan import BenchPlan
from bench.results import Contender, ResultRow, ResultSection, SpeedTarget
from bench.statistics import percentile
from localcluster.machine.progress import step

# A kubelet sends an unchanged status every 5 minutes, a changing one at most every 10 s.
USUAL_SECONDS: Final = 300.0
BUSY_SECONDS: Final = 10.0
_NEVER: Final = 0.0
_CPU: Final = {
    _NEVER: "no status of any node",
    USUAL_SECONDS: "a status of each node every 5 min",
    BUSY_SECONDS: "a status of each node every 10 s",
}
_SETTLING_SECONDS: Final = 5.0


@dataclass(slots=True)
class Figures:
    """`taken` holds the milliseconds of each sample; `shares` the CPU in percent, by period."""

    taken: dict[Contender, list[float]] = field(default_factory=dict)
    shares: dict[Contender, dict[float, float]] = field(default_factory=dict)
    rates: dict[Contender, dict[float, float]] = field(default_factory=dict)
    memory: dict[Contender, float] = field(default_factory=dict)


async def measure(arena: Arena, plan: BenchPlan) -> ResultSection:
    """Measures both operators, one after the other, beside the same nodes.

    Our operator is at work afterwards.
    """
    figures = Figures()
    async with Kubelets(arena.client, plan.nodes) as kubelets:
        for contender in CONTROLLERS:
            async with step(arena.cluster.reporter, f"nodes: {contender}"):
                await arena.activate(contender)
                await _one(arena, plan, kubelets, contender, figures)
    await arena.activate(Contender.OURS)
    return section(figures, plan.nodes)


async def _one(
    arena: Arena, plan: BenchPlan, kubelets: Kubelets, contender: Contender, figures: Figures
) -> None:
    fault = eviction()
    async with kubelets.reporting(USUAL_SECONDS):
        if contender is Contender.OURS:
            await one_by_one(arena, fault, "nodes", plan.detections)
        else:
            await over_a_minute(arena, [fault], "peer-nodes")
    figures.taken[contender] = fault.taken[contender]
    await asyncio.sleep(_SETTLING_SECONDS)
    process = arena.cluster.processes[CONTROLLERS[contender]].pid
    shares = figures.shares.setdefault(contender, {})
    rates = figures.rates.setdefault(contender, {})
    for period in _CPU:
        async with kubelets.reporting(period) if period else nullcontext():
            reports = kubelets.reports
            with CpuSpent([process]) as spent:
                await asyncio.sleep(plan.heartbeat_seconds)
        shares[period] = 100 * spent.seconds / plan.heartbeat_seconds
        rates[period] = (kubelets.reports - reports) / plan.heartbeat_seconds
    figures.memory[contender] = usage([process]).resident_mib


def section(figures: Figures, nodes: int) -> ResultSection:
    """Returns the rows, and the notes that explain them."""
    among = f"EVICT label to Resetting among {nodes:,} nodes"
    labels = {
        0: ResultRow(f"{among}, fastest", "ms"),
        50: ResultRow(f"{among}, median", "ms"),
        100: ResultRow(f"{among}, slowest", "ms", (SpeedTarget(200),)),
    }
    for contender, taken in figures.taken.items():
        for percent, row in labels.items():
            row.add(contender, percentile(taken, percent))
    heartbeats = {
        period: ResultRow(
            f"CPU with {nodes:,} nodes, {what}",
            "% of a core",
            (SpeedTarget(1),) if period == USUAL_SECONDS else (),
        )
        for period, what in _CPU.items()
    }
    for contender, shares in figures.shares.items():
        for period, share in shares.items():
            heartbeats[period].add(contender, share)
    memory = ResultRow(f"resident memory with {nodes:,} nodes", "MiB")
    for contender, resident in figures.memory.items():
        memory.add(contender, resident)
    return ResultSection(
        "A large cluster",
        [*labels.values(), *heartbeats.values(), memory],
        _notes(figures, nodes),
    )


def _notes(figures: Figures, nodes: int) -> list[str]:
    counts = ", ".join(f"{len(taken)} for {name}" for name, taken in figures.taken.items())
    sent = ", ".join(
        f"{rates[USUAL_SECONDS]:.1f} and {rates[BUSY_SECONDS]:.0f} a second for {name}"
        for name, rates in figures.rates.items()
    )
    return [
        f"{nodes:,} nodes with 50 images and 60 labels each, on which nothing runs, beside the"
        " cluster's own 8. Their leases are renewed, and each sends its status every 5 minutes, as"
        " kubelets do, while labels are measured.",
        "From just before the request that labels the node under an AppWrapper's pod until a watch"
        f" shows Resetting; samples: {counts}. The Go operator checks each AppWrapper once a"
        " minute: its labels are spread evenly over a minute.",
        "CPU: of the controller's process (the Go operator's process contains its webhook), idle"
        f" but for heartbeats. Statuses sent: {sent}.",
    ]
