"""Calls of Linux that Python 3.11 does not wrap."""

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_BIND = 0x1000
MS_REC = 0x4000
MS_SHARED = 1 << 20

_libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Calls mount(2). Raises OSError with the target."""
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode()
    )
    if result != 0:
        _fail(f"mount {kind or 'flags'} at {target}")


def enter_namespaces(pidfd: int, kinds: int) -> None:
    """Calls setns(2) (Linux 5.8). Only children enter the PID namespace. Raises OSError."""
    if _libc.setns(pidfd, kinds) != 0:
        _fail("setns")


def _fail(what: str) -> None:
    number = ctypes.get_errno()
    raise OSError(number, f"{what} failed: {os.strerror(number)}")
