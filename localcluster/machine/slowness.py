"""Stretches time limits on a machine slower than the one for which they were set.

`make test` and the other targets measure how slow the machine is, and export the variable.
Without it, as in a test that is run by hand, every time limit is as written.
"""

import os
from collections.abc import Mapping
from typing import Final

VARIABLE: Final = "MACHINE_SLOWNESS"
"""How many times the reference's time the same work takes here; 1 or more."""


def stretched(seconds: float, environment: Mapping[str, str] = os.environ) -> float:
    """Return a time limit for this machine. Raise ValueError if the variable is no number."""
    return seconds * max(1.0, float(environment.get(VARIABLE, "1")))
