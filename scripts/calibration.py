"""Measures how slow the machine is, and decides how many test runs it carries at once.

Test runs wait for little: they compute. Too many at once starve each other, and then even long
waits end too early. The measurement is of wall time, so it includes a cgroup's quota and what
else runs on the machine.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from math import ceil
from typing import Final

REFERENCE_SECONDS: Final = 1.2
"""Seconds of the work on a core of the machine for which the time limits were set."""
MOST_AT_ONCE: Final = 4
# Three fill two cores together with the runs beside them. With four, a slow machine refused some of
# the load that tests on the node send.
MOST_WORKERS: Final = 3
_WORK: Final = """
import time
began = time.monotonic()
for _ in range(250):
    sorted(str(each) for each in range(60_000))
print(time.monotonic() - began)
"""


@dataclass(frozen=True, slots=True)
class MachinePlan:
    """How many test runs run at once, how many workers the shared one has, how long waits are.

    `long_at_once` is for `make test-long`, whose runs wait more.
    """

    slowness: float
    at_once: int
    long_at_once: int
    workers: int

    def __str__(self) -> str:
        return (
            f"this machine needs {self.slowness:.2f} times the reference's time: test runs at once"
            f" {self.at_once} (long ones {self.long_at_once}), workers {self.workers},"
            f" time limits x {max(1.0, self.slowness):.2f}"
        )


def plan(slowness: float, cores: int) -> MachinePlan:
    """Return what the machine carries for each reference core.

    That is two test runs, or 2.5 long ones, and 1.5 workers. A long one alone would leave the cores
    idle.
    """
    carried = cores / slowness
    return MachinePlan(
        slowness,
        at_once=min(max(1, round(2 * carried)), MOST_AT_ONCE),
        long_at_once=min(max(2, round(2.5 * carried)), MOST_AT_ONCE),
        workers=min(ceil(1.5 * carried), MOST_WORKERS),
    )


def measured() -> MachinePlan:
    """Compute on every core for a second or two; return the plan for this machine."""
    cores = len(os.sched_getaffinity(0))
    command = (sys.executable, "-I", "-S", "-c", _WORK)
    computing = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(cores)]
    seconds = [float(each.communicate()[0]) for each in computing]
    return plan(sum(seconds) / cores / REFERENCE_SECONDS, cores)
