"""Takes a port, or says in one sentence why it cannot be had."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from shared.config.bind_address import BindAddress

BACKLOG: Final = 2048


class CannotListen(Exception):
    """The address is taken or not ours. The message says which."""


def listen(address: BindAddress) -> socket.socket:
    """A listening socket; the caller closes it. Raises CannotListen."""
    taken = take(address)
    try:
        with explained(address):
            taken.listen(BACKLOG)
    except CannotListen:
        taken.close()
        raise
    return taken


def take(address: BindAddress, *, shared: bool = False) -> socket.socket:
    """A socket that has the port but does not listen yet; the caller closes it.

    Several processes of one user that take the port as `shared` all get it, and the kernel spreads
    connections over those that listen. Raises CannotListen.
    """
    with explained(address):
        taken = socket.socket(_family(address))
        try:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if taken.family == socket.AF_INET6:
                # Every address means IPv4's too; a single one means that one.
                taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, bool(address.host))
            taken.bind(address)
        except BaseException:
            taken.close()
            raise
        return taken


@contextmanager
def explained(address: BindAddress) -> Iterator[None]:
    """Turns an OSError inside into a CannotListen that names the address."""
    try:
        yield
    except OSError as error:
        # Some errors repeat the address in their text; it is named here already.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise CannotListen(
            f"cannot listen on {address.host or 'any address'} port {address.port}: {reason}"
        ) from error


def _family(address: BindAddress) -> socket.AddressFamily:
    if ":" in address.host or (not address.host and socket.has_dualstack_ipv6()):
        return socket.AF_INET6
    return socket.AF_INET
