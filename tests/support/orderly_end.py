"""A run of tests that somebody ends by SIGTERM, or by closing the terminal, cleans up first.

A pytest plugin: `pytest_configure` is all of it.
"""

import signal
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def pytest_configure() -> None:
    """Makes these signals end the run as Ctrl-C does."""
    for number in _SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP, and means it
            signal.signal(number, _end_as_by_ctrl_c)


def _end_as_by_ctrl_c(number: int, frame: FrameType | None) -> None:
    # Whoever is in a hurry sends it twice; half a clean-up would leave things behind.
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    handler = signal.getsignal(signal.SIGINT)  # the event loop's, while one runs
    if not callable(handler):  # a shell's background jobs ignore Ctrl-C, but nothing else
        raise KeyboardInterrupt
    handler(number, frame)
