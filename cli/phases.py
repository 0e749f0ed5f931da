"""Phases as texts, for commands that start fast: the import of `controller.phases` takes long."""

from typing import Final

from shared.api.appwrapper import AppWrapper

ENDED: Final = frozenset({"Succeeded", "Failed"})


def shown_phase(appwrapper: AppWrapper) -> str:
    """Return the phase; Terminating from the user's deletion on."""
    if appwrapper.deletion_requested:
        return "Terminating"
    return str(appwrapper.status.get("phase") or "")
