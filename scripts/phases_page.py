"""Writes the passage of docs/users/phases.md: what each phase decides, and all reasons."""

from collections.abc import Iterator
from typing import Final

from controller.phases.decide import PHASES, ROWS
from controller.phases.findings import CHECKS
from controller.phases.phase import Phase
from controller.phases.rows import Row
from controller.phases.running import pods_in_trouble
from controller.reports.reason import Reason
from scripts.pages import first_paragraph, table

_WITH_GRACE: Final = "Unhealthy; after FailureGracePeriod reset or fail."


def phases_passage() -> str:
    """Return the sections of the phases and the table of reasons."""
    reasons = table(("Reason", "Meaning"), ((f"`{each.value}`", each.meaning) for each in Reason))
    return "\n\n".join([*_decisions(), "## Reasons", reasons])


def _decisions() -> Iterator[str]:
    for phase in Phase:
        yield f"### {phase or '(none)'}"
        _, _, described = (PHASES[phase].__doc__ or "").partition("\n\n")
        yield first_paragraph(described)
        texts = (text for row in ROWS[phase] for text in _texts(row))
        yield "\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1))


def _texts(row: Row) -> Iterator[str]:
    """Yield the text of a row; of the row that answers the checks, one for each check."""
    if row is not pods_in_trouble:
        yield first_paragraph(row.__doc__)
        return
    for check in CHECKS:
        yield f"{first_paragraph(check.__doc__)} {_WITH_GRACE}"
