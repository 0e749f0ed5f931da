"""The SSLContext to listen with. It never changes; each handshake moves on to the newest one.

Loading another certificate into a context in use would not do: a half-written pair there makes
every later handshake fail. So each pair gets a context of its own, which then takes the old one's
place.
"""

import os
import ssl

from webhook.tls.key_pair import KeyPair


class ServingContext:
    """`front` is what the server listens with. Before the first `swap` every handshake fails."""

    def __init__(self, current: ssl.SSLContext | None = None) -> None:
        self._current = current
        self.front = server_context()
        self.front.sni_callback = self._switch

    def swap(self, context: ssl.SSLContext) -> None:
        """Serve this one from the next handshake on; connections that exist go on."""
        self._current = context

    def _switch(self, handshake: ssl.SSLObject, _name: str | None, _front: ssl.SSLContext) -> None:
        if self._current is not None:
            handshake.context = self._current


def server_context() -> ssl.SSLContext:
    """A context of the kind that we serve with, without a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # No tickets: who resumes a session is not shown the new certificate. API servers never do.
    context.num_tickets = 0
    return context


def context_of(pair: KeyPair) -> ssl.SSLContext:
    """A context that serves this pair."""
    context = server_context()
    load(context, pair)
    return context


def load(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Makes a context that nobody uses yet serve this pair. Its key touches no disk.

    Python's ssl loads certificates from paths only, and a container's file system is read-only: so
    OpenSSL reads from memory that has a path.
    """
    descriptor = os.memfd_create("serving-certificate", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb") as memory:
        memory.write(pair.certificate_pem + pair.key_pem)
        memory.flush()
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
