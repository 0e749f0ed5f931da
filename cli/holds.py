"""Describe a hold, for the commands that show an AppWrapper. Pure."""

from typing import Final

from cli.hints import command_for
from shared.api.appwrapper import AppWrapper
from shared.api.lines import one_line
from shared.api.names import ANNOTATION_HELD_BY

_LONGEST: Final = 60


def held_text(appwrapper: AppWrapper) -> str:
    """Return "held by alice"; "held" if another program wrote the annotation."""
    holder = one_line(appwrapper.annotations.get(ANNOTATION_HELD_BY) or "", _LONGEST)
    return f"held by {holder}" if holder else "held"


def release_command(appwrapper: AppWrapper) -> str:
    """Return the command that ends the hold."""
    return command_for(appwrapper, "release")
