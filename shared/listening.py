"""Takes a port, or says in one sentence why it cannot be had."""

import os
import socket

from shared.config.bind_address import BindAddress


class CannotListen(Exception):
    """The address is taken or not ours. The message says which."""


def listen(address: BindAddress) -> socket.socket:
    """A listening socket; the caller closes it. Raises CannotListen."""
    try:
        if address.host:
            family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
            return socket.create_server(address, family=family, backlog=2048)
        if socket.has_dualstack_ipv6():
            return socket.create_server(
                address, family=socket.AF_INET6, dualstack_ipv6=True, backlog=2048
            )
        return socket.create_server(address, backlog=2048)
    except OSError as error:
        # The socket module adds the address to the text; it is named here already.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise CannotListen(
            f"cannot listen on {address.host or 'any address'} port {address.port}: {reason}"
        ) from error
