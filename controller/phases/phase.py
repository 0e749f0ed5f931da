"""Phases of an AppWrapper and the edges between them."""

from enum import StrEnum
from typing import Final


class Phase(StrEnum):
    """The Go operator's values of `status.phase`. Kueue reads Succeeded and Failed."""

    EMPTY = ""
    SUSPENDED = "Suspended"
    RESUMING = "Resuming"
    RUNNING = "Running"
    RESETTING = "Resetting"
    SUSPENDING = "Suspending"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    TERMINATING = "Terminating"


# All edges. A test checks that `decide` takes exactly these.
EDGES: Final[dict[Phase, frozenset[Phase]]] = {
    Phase.EMPTY: frozenset({Phase.SUSPENDED, Phase.RESUMING, Phase.TERMINATING}),
    Phase.SUSPENDED: frozenset({Phase.RESUMING, Phase.TERMINATING}),
    Phase.RESUMING: frozenset(
        {Phase.RUNNING, Phase.SUSPENDING, Phase.RESETTING, Phase.FAILED, Phase.TERMINATING}
    ),
    Phase.RUNNING: frozenset(
        {Phase.SUCCEEDED, Phase.SUSPENDING, Phase.RESETTING, Phase.FAILED, Phase.TERMINATING}
    ),
    Phase.RESETTING: frozenset({Phase.RESUMING, Phase.SUSPENDING, Phase.TERMINATING}),
    Phase.SUSPENDING: frozenset({Phase.SUSPENDED, Phase.TERMINATING}),
    Phase.SUCCEEDED: frozenset({Phase.TERMINATING}),
    Phase.FAILED: frozenset({Phase.TERMINATING}),
    Phase.TERMINATING: frozenset(),
}
