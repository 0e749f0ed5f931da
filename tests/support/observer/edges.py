"""The edges between phases that the documentation draws, written down a second time.

docs/users/phases.md is compared with the controller's own table, so that table cannot be its own
check.
"""

from typing import Final

DELETED: Final = "Terminating"
EDGES: Final[dict[str, tuple[str, ...]]] = {
    "": ("Suspended", "Resuming"),
    "Suspended": ("Resuming",),
    "Resuming": ("Running", "Resetting", "Suspending", "Failed"),
    "Running": ("Succeeded", "Resetting", "Suspending", "Failed"),
    "Resetting": ("Resuming", "Suspending"),
    "Suspending": ("Suspended",),
    "Succeeded": (),
    "Failed": (),
    "Terminating": (),
}


def is_drawn(before: str, after: str) -> bool:
    """True for a drawn edge; staying is none. Deletion may come in every phase but the last."""
    if after == DELETED:
        return before in EDGES and before != DELETED
    return after in EDGES.get(before, ())
