"""Compare verdicts with the list of mutants. Pure."""

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
    """How a mutant ended."""

    UNIT = "noticed by unit tests"
    SIMULATION = "noticed by the simulation"
    EQUIVALENT = "equivalent"
    SURVIVED = "survived"
    NOTICED = "wrongly listed as equivalent"


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
