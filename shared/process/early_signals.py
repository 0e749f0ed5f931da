"""Handle SIGTERM and SIGINT before a process has work to finish.

The kernel drops every signal without a handler for the first process of a container. A signal
during imports or the reading of the configuration would be lost, and the pod would stay for its
whole grace period. Every program therefore calls this first.
"""

import os
import signal


def end_at_once_on_signals() -> None:
    """End the process with 0 on SIGTERM and SIGINT, until other handlers replace these."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)


def _end(*_: object) -> None:
    # Not by an exception: in a callback of Python itself (the release of a module lock) it would be
    # printed and dropped, and the signal with it.
    os._exit(0)
