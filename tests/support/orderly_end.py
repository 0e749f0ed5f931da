"""Lets a run of tests clean up when SIGTERM or a closed terminal ends it.

It is a pytest plugin.
"""

import signal
import threading
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_ending = threading.Event()


def pytest_configure() -> None:
    """Makes these signals end the run as Ctrl-C does."""
    for number in _SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP, and means it
            signal.signal(number, _end_as_by_ctrl_c)


def pytest_runtest_logfinish() -> None:
    """Ends the run after a test that lost the interrupt; the signals are ignored by then.

    CPython 3.11's `asyncio.run` forgets an interrupt between its handler and its count of them.
    """
    if _ending.is_set():
        raise KeyboardInterrupt


def _end_as_by_ctrl_c(number: int, frame: FrameType | None) -> None:
    # An impatient user sends it twice; half a clean-up would leave things behind.
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    _ending.set()
    handler = signal.getsignal(signal.SIGINT)  # the event loop's, while one runs
    if not callable(handler):  # a shell's background jobs ignore Ctrl-C, but nothing else
        raise KeyboardInterrupt
    handler(number, frame)
