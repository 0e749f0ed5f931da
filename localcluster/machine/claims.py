"""Claims a name on this machine: it is free again when the process ends, however it ends.

A claim is a socket in Linux's abstract namespace. Like ports and interfaces it belongs to the
network namespace, whichever user or folder a cluster has, and it leaves no file.
"""

import errno
import socket


def claim(name: str) -> socket.socket | None:
    """Returns the claim, to be closed; None while another process has the name. Raises OSError."""
    held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        held.bind(f"\0appwrapper-localcluster-{name}")
    except OSError as failure:
        held.close()
        if failure.errno == errno.EADDRINUSE:
            return None
        raise
    return held
