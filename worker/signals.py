"""The signals that the recorder forwards: which, since when, and from whom."""

from __future__ import annotations

import signal

ENDING = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
FORWARDED = ENDING | {signal.SIGUSR1, signal.SIGUSR2}
_OF_TERMINALS = frozenset({signal.SIGINT, signal.SIGQUIT})


def hold() -> set[int]:
    """Block the signals, so that they wait for `child.run`; return the mask before.

    It is called first of all: PID 1 would lose a signal that comes earlier, and anything else
    would die of it.
    """
    return signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED | {signal.SIGCHLD})


def release(mask: set[int]) -> None:
    """Set the mask that `hold` returned: a program must not start with signals blocked."""
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def awaited() -> set[int]:
    """Return the signals to wait for: an ignored one stays ignored, for the command as well."""
    heeded = {number for number in FORWARDED if signal.getsignal(number) != signal.SIG_IGN}
    return heeded | {signal.SIGCHLD}


def wait(numbers: set[int]) -> tuple[int, bool]:
    """Wait for one of the signals; return it, and whether the command got it already.

    A terminal sends its signals to the whole process group. PyPy does not report a signal's sender.
    """
    if not hasattr(signal, "sigwaitinfo"):
        return signal.sigwait(numbers), False
    received = signal.sigwaitinfo(numbers)
    return received.si_signo, received.si_signo in _OF_TERMINALS and received.si_code > 0
