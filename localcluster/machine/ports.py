"""Reserves free ports on the loopback interface, so that clusters started together share none.

The ports are below the range that the kernel uses for outgoing connections: any user's request may
take a free port of that range a moment later.
"""

import errno
import socket
from collections.abc import Sequence
from pathlib import Path

from localcluster.machine.claims import claim
from localcluster.machine.errors import LocalClusterError

HOST = "127.0.0.1"
"""The address of all listeners, except those that a real node must reach."""
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 20_000
_COUNT = 4_000


def default_range(ephemeral: str | None = None) -> range:
    """Returns 4,000 ports outside the kernel's own range, given as in `/proc` (`32768\\t60999`)."""
    low, high = map(int, (ephemeral or _EPHEMERAL.read_text()).split())
    if low >= _LOWEST + _COUNT or high < _LOWEST:
        return range(_LOWEST, _LOWEST + _COUNT)
    if low - _COUNT > 1024:
        return range(low - _COUNT, low)
    return range(high + 1, min(high + 1 + _COUNT, 65_536))


class Ports:
    """The ports of one cluster. They are free again when the process ends, however it ends."""

    def __init__(self, candidates: Sequence[int]) -> None:
        self._candidates = candidates
        self._reserved: dict[int, socket.socket] = {}
        self._next = 0

    def reserve(self) -> int:
        """Returns a port without a listener that no other cluster has. Raises LocalClusterError."""
        while self._next < len(self._candidates):
            port = self._candidates[self._next]
            self._next += 1
            reservation = claim(f"port-{port}")
            if reservation is None:
                continue
            if is_free(port):
                self._reserved[port] = reservation
                return port
            reservation.close()
        raise LocalClusterError(
            f"No port from {self._candidates[0]} to {self._candidates[-1]} is free on {HOST}."
            " Stop something that listens there; `ss -ltnp` lists what does."
        )

    def release_all(self) -> None:
        """Releases every port."""
        for reservation in self._reserved.values():
            reservation.close()
        self._reserved.clear()


def is_free(port: int) -> bool:
    """True if a program could listen on it, on 127.0.0.1 and, if it exists, on [::1]."""
    return _can_bind(socket.AF_INET, HOST, port) and _can_bind(socket.AF_INET6, "::1", port)


def _can_bind(family: socket.AddressFamily, address: str, port: int) -> bool:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
    except OSError as failure:
        return failure.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
    return True
