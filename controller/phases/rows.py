"""The rows of a phase, in the specification's order. The first that applies decides.

docs/users/phases.md shows the first paragraph of each row's docstring.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from controller.phases.actions import Actions
from controller.phases.snapshot import FaultTolerance, Snapshot

# Returns None if it does not apply.
Row = Callable[[Snapshot, datetime, FaultTolerance], Actions | None]


def first_of(
    rows: Iterable[Row], snapshot: Snapshot, now: datetime, config: FaultTolerance
) -> Actions:
    """Return the actions of the first row that applies; () if none does."""
    found = (row(snapshot, now, config) for row in rows)
    return next((actions for actions in found if actions is not None), ())
