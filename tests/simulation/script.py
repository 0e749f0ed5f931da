"""Format a failing run as a script of events that a person reads, and as a regression test."""

import re
from collections.abc import Mapping
from typing import Final

from tests.simulation.outcome import Outcome, Violation

# The lines that a reader needs: acts, faults, processes, the product's writes, and the creation and
# deletion of objects.
_EVENTS: Final = re.compile(
    r"^ *[\d.]+ (?:act:|fault |start |crash |freeze |wake |VIOLATION |the API server |c\d[\w.]* )"
    r"|^ *[\d.]+ (?:ADDED|DELETED) (?!events/|workloads/|leases/)"
    r"|^ *[\d.]+ MODIFIED appwrappers/"
    r"|\(being deleted\)$"
)
_NOISE: Final = re.compile(
    r"^ +0\.000 ADDED | logs (?:INFO|DEBUG) | (?:POST|PATCH|PUT) (?:events|leases)/"
)
_LONGEST: Final = 120  # lines


def script(outcome: Outcome) -> str:
    """Return the run's events until the first broken promise; the last ones of a long run."""
    lines: list[str] = []
    for line in outcome.trace:
        if _EVENTS.search(line) and not _NOISE.search(line):
            lines.append(line)
        if " VIOLATION " in line:
            break
    if len(lines) > _LONGEST:
        left_out = f"           ... {len(lines) - _LONGEST} earlier events"
        lines = [left_out, *lines[-_LONGEST:]]
    return "\n".join(lines)


def regression(
    scenario: str, deviations: Mapping[tuple[str, int], int], violation: Violation
) -> str:
    """Return the test that keeps a mended run, for tests/simulation/regressions.

    `scenario`: the expression that makes the scenario from `choices`.
    """
    recorded = ", ".join(f"{place!r}: {index}" for place, index in deviations.items())
    return (
        f"def test_{re.sub(r'[^a-z]+', '_', violation.kind)}_of_NAME() -> None:\n"
        f"    choices = Recorded({{{recorded}}})\n"
        f"    outcome = World(choices, {scenario}).run()\n"
        f"    assert outcome.violations == ()  # was: {violation}\n"
    )
