"""Runs the parts of a plan in one cluster and gives their sections."""

from bench.arena import Arena
from bench.measurements import admission
from bench.measurements.creation import Creation
from bench.measurements.lifecycle import Lifecycle
from bench.measurements.rotation import rotated
from bench.plan import Plan
from bench.results import Contender, Section
from localcluster.progress import step

_ALL = (Contender.PLATFORM, Contender.OURS, Contender.PEER)


async def run(arena: Arena, plan: Plan) -> list[Section]:
    """All parts of the plan, in the order of a report. Leaves our operator at work."""
    sections = []
    reporter = arena.cluster.reporter
    if "mutate" in plan.parts:
        async with step(reporter, f"mutate: {plan.rounds} rounds"):
            sections.append(await admission.mutate(arena, plan))
    if "validate" in plan.parts:
        async with step(reporter, f"validate: {plan.rounds} rounds"):
            sections.append(await admission.validate(arena, plan))
    if "large" in plan.parts:
        async with step(reporter, f"large: {plan.rounds} rounds"):
            sections.append(await admission.large(arena, plan))
    return sections + await _in_turns(arena, plan)


async def _in_turns(arena: Arena, plan: Plan) -> list[Section]:
    """What only one contender at a time can do; each switch serves all parts."""
    parts: list[Creation | Lifecycle] = []
    if "creation" in plan.parts:
        parts.append(Creation(plan.creates))
    if "lifecycle" in plan.parts:
        parts.append(Lifecycle(plan.sizes))
    if not parts:
        return []
    names = " and ".join(name for name in ("creation", "lifecycle") if name in plan.parts)
    for round_number in range(plan.rounds):
        for contender in rotated(_ALL, round_number):
            title = f"{names}, round {round_number + 1} of {plan.rounds}: {contender}"
            async with step(arena.cluster.reporter, title):
                await arena.activate(contender)
                for part in parts:
                    await part.run(arena, contender, round_number)
    await arena.activate(Contender.OURS)
    return [part.section for part in parts]
