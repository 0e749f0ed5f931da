"""Settings that no program reads yet. A file that has one is warned about, and is valid."""

from typing import Final

# Canonical path -> what happens instead. Remove an entry together with the code that reads it.
NOT_READ_YET: Final[dict[tuple[str | int, ...], str]] = {
    (
        "controllerManager",
        "leaderElection",
    ): "the controller takes no lease; run one replica of it",
}
