"""Compare verdicts with the list of mutants. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from scripts.mutants.plan import SIMULATION, Mutant


@dataclass(frozen=True, slots=True)
class Verdict:
    """`killer`: the test that noticed the fault; None if none did. `digest`: what it depends on."""

    killer: str | None
    seconds: float
    digest: str


class Outcome(StrEnum):
    """How a mutant ended. The values are the heads of the table."""

    UNIT = "by unit"
    SIMULATION = "by simulation"
    EQUIVALENT = "equivalent"
    SURVIVED = "survived"
    NOTICED = "wrong"  # listed as equivalent, but killed


def outcome_of(mutant: Mutant, verdict: Verdict) -> Outcome:
    """Return how a mutant ended."""
    if verdict.killer is None:
        return Outcome.EQUIVALENT if mutant.equivalent else Outcome.SURVIVED
    if mutant.equivalent:
        return Outcome.NOTICED
    return Outcome.SIMULATION if verdict.killer.startswith(SIMULATION) else Outcome.UNIT


def offences(
    mutants: Sequence[Mutant], outcomes: Mapping[str, Outcome], verdicts: Mapping[str, Verdict]
) -> Iterator[str]:
    """Yield one line for each mutant that makes the run fail."""
    for mutant in mutants:
        if outcomes[mutant.name] is Outcome.SURVIVED:
            yield (
                f"{mutant.name} survives ({mutant.file}): {mutant.fault}. "
                "Add the missing test, or list the mutant as equivalent with the reason"
            )
        if outcomes[mutant.name] is Outcome.NOTICED:
            yield (
                f"{mutant.name} is listed as equivalent, but {verdicts[mutant.name].killer} fails: "
                "remove `equivalent`"
            )


def rows(
    mutants: Sequence[Mutant], outcomes: Mapping[str, Outcome]
) -> list[tuple[str, int, Counter[Outcome]]]:
    """Return for each folder the number of mutants, and of each outcome; the sum is last."""
    areas = sorted({mutant.area for mutant in mutants})
    counted = {area: Counter[Outcome]() for area in areas}
    for mutant in mutants:
        counted[mutant.area][outcomes[mutant.name]] += 1
    total = sum(counted.values(), Counter[Outcome]())
    everything = [*counted.items(), ("all", total)]
    return [(area, counts.total(), counts) for area, counts in everything]
