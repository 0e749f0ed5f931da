"""Runs the parts of a plan in one cluster and returns their sections."""

from typing import Protocol

from bench.arena import Arena
from bench.measurements import admission, crowd, hostile, nodes, stored
from bench.measurements.creation import Creation
from bench.measurements.deletion import DeletionPart
from bench.measurements.detection import Detection
from bench.measurements.flapping import Flapping
from bench.measurements.lifecycle import Lifecycle
from bench.measurements.records import Records
from bench.measurements.rotation import rotated
from bench.plan import BenchPlan
from bench.results import Contender, ResultSection
from localcluster.machine.progress import step

_ALL = (Contender.PLATFORM, Contender.OURS, Contender.PEER)


class Turn(Protocol):
    """A part that is measured while one contender at a time is at work."""

    @property
    def section(self) -> ResultSection:
        """Returns the results; call it after the last round."""

    async def run(self, arena: Arena, contender: Contender, round_number: int) -> None:
        """Runs one round of one contender, which is already at work."""


async def run(arena: Arena, plan: BenchPlan) -> dict[str, ResultSection]:
    """Runs all parts, and returns their sections by part, in the order of a report.

    Our operator is at work afterwards.
    """
    sections = {}
    reporter = arena.cluster.reporter
    direct = {
        "mutate": admission.mutate,
        "validate": admission.validate,
        "large": admission.large,
        "hostile": hostile.measure,
    }
    for part, measure in direct.items():
        if part in plan.parts:
            async with step(reporter, f"{part}: {plan.rounds} rounds"):
                sections[part] = await measure(arena, plan)
    sections |= await _in_turns(arena, plan)
    one_after_the_other = {
        "nodes": nodes.measure,
        "crowd": crowd.measure,
        "stored": stored.measure,
    }
    for part, measure in one_after_the_other.items():
        if part in plan.parts:
            sections[part] = await measure(arena, plan)
    return sections


async def _in_turns(arena: Arena, plan: BenchPlan) -> dict[str, ResultSection]:
    """Runs the parts that need one contender at a time; each switch serves all of them."""
    made: dict[str, Turn] = {
        "creation": Creation(plan.creates),
        "lifecycle": Lifecycle(plan.sizes),
        "detection": Detection(plan.detections),
        "deletion": DeletionPart(max(plan.sizes)),
        "flapping": Flapping(plan.flapping_seconds),
        "records": Records(plan.workers),
    }
    parts = {name: part for name, part in made.items() if name in plan.parts}
    if not parts:
        return {}
    for round_number in range(plan.rounds):
        for contender in rotated(_ALL, round_number):
            title = f"{', '.join(parts)}, round {round_number + 1} of {plan.rounds}: {contender}"
            async with step(arena.cluster.reporter, title):
                await arena.activate(contender)
                for part in parts.values():
                    await part.run(arena, contender, round_number)
    await arena.activate(Contender.OURS)
    return {name: part.section for name, part in parts.items()}
