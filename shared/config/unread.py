"""Settings that no program reads yet. A file with one is valid, and causes a warning."""

from typing import Final

# Canonical path -> the actual behaviour. Remove an entry together with the code that reads it.
NOT_READ_YET: Final[dict[tuple[str | int, ...], str]] = {
    (
        "controllerManager",
        "leaderElection",
    ): "the controller takes no lease; run one replica of it",
}
