"""A foreground command that ends when whoever started it is killed.

`kill -9` of `make` reaches only make; without this the command below it, and its cluster, would go
on with nobody watching.
"""

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """From now on this process gets SIGTERM when its parent ends, and stops in order.

    Call it from the main thread. Raises OSError where the kernel refuses.
    """
    parent = os.getppid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    # The parent may have ended before the call above: then nobody would send the signal.
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
