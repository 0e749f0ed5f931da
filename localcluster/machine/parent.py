"""Ties a process's life to its parent's (Linux: prctl)."""

import ctypes
import signal

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def signal_at_parents_end(number: signal.Signals) -> None:
    """Sends this process `number` when the thread that forked it ends. Raises OSError.

    If the parent has ended before the call, no signal comes: check that afterwards.
    """
    if _libc.prctl(_PR_SET_PDEATHSIG, number) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
