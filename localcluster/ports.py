"""Free ports on the loopback interface, reserved so that clusters started together never share one.

Ports lie below the range from which the kernel takes ports for outgoing connections: there, a port
that is free now may be taken a moment later by anybody's request.
"""

import contextlib
import errno
import os
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path

from localcluster.errors import NoFreePort
from localcluster.locks import FileLock

_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 20_000
_COUNT = 4_000


def default_range(ephemeral: str | None = None) -> range:
    """4,000 ports outside the kernel's own range, given as `/proc` writes it (`32768\\t60999`)."""
    low, high = map(int, (ephemeral or _EPHEMERAL.read_text()).split())
    if low >= _LOWEST + _COUNT or high < _LOWEST:
        return range(_LOWEST, _LOWEST + _COUNT)
    if low - _COUNT > 1024:
        return range(low - _COUNT, low)
    return range(high + 1, min(high + 1 + _COUNT, 65_536))


def locks_folder() -> Path:
    """Where this user's reservations are: the same for every cluster of the user."""
    return Path(tempfile.gettempdir()) / f"appwrapper-ports-{os.getuid()}"


class Ports:
    """The ports of one cluster. They are free again when the process ends, however it ends."""

    def __init__(self, candidates: Sequence[int], folder: Path) -> None:
        self._candidates = candidates
        self._folder = folder
        self._reserved: dict[int, FileLock] = {}
        self._next = 0

    def reserve(self) -> int:
        """A port that nobody listens on and no other cluster of the user has. Raises NoFreePort."""
        while self._next < len(self._candidates):
            port = self._candidates[self._next]
            self._next += 1
            lock = self._lock(port)
            if lock is None:
                continue
            if is_free(port):
                self._reserved[port] = lock
                return port
            lock.release(remove=True)
        raise NoFreePort(
            f"No port from {self._candidates[0]} to {self._candidates[-1]} is free on 127.0.0.1."
            " Stop something that listens there; `ss -ltnp` lists what does."
        )

    def release_all(self) -> None:
        """Gives every port back."""
        for lock in self._reserved.values():
            lock.release(remove=True)
        self._reserved.clear()
        with contextlib.suppress(OSError):  # other clusters' reservations are in it
            self._folder.rmdir()

    def _lock(self, port: int) -> FileLock | None:
        while True:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                return FileLock.try_take(self._folder / str(port))
            except FileNotFoundError:
                continue  # another cluster, ending, has removed the empty folder in between


def is_free(port: int) -> bool:
    """Whether a program could listen on it, on 127.0.0.1 and on [::1] where there is one."""
    return _can_bind(socket.AF_INET, "127.0.0.1", port) and _can_bind(socket.AF_INET6, "::1", port)


def _can_bind(family: socket.AddressFamily, address: str, port: int) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
    except OSError as failure:
        return failure.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
    return True
