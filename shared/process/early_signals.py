"""SIGTERM and SIGINT before a process has anything to finish.

The kernel keeps from the first process of a container every signal that it has no handler for. One
that comes while modules are imported or the configuration is read would be lost, and the pod would
stay for its whole grace period. So this is the first thing that a program does.
"""

import os
import signal


def end_at_once_on_signals() -> None:
    """Until something else listens to them, SIGTERM and SIGINT end the process with 0."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)


def _end(*_: object) -> None:
    # No exception: raised where Python calls back, for example when a module lock is freed, it
    # would be printed and forgotten, and the signal with it.
    os._exit(0)
