"""Serve the webhook's certificate from any source: `files`, or `managed_source`."""

import os
import ssl
from datetime import datetime, timedelta
from typing import Final, Protocol

from webhook.tls.decisions.certificates import (
    AuthorityName,
    KeyPair,
    issue_leaf,
    make_authority,
    new_key,
)


class CertificateSource(Protocol):
    """Provide the certificate. A process uses a source like this:

    running = asyncio.create_task(source.run())
    ... until source.problem() is None: a process that listens earlier takes connections from a
        replica that could serve them; then listen with source.context ...
    running.cancel()
    """

    @property
    def context(self) -> ssl.SSLContext:
        """Return the context to listen with. Each handshake uses the newest certificate."""
        ...

    @property
    def not_after(self) -> datetime | None:
        """Return when the served certificate expires; None without one. For a metric."""
        ...

    def problem(self) -> str | None:
        """Return why clients will not accept the connection; None if they will. For readiness."""
        ...

    def warning(self) -> str | None:
        """Return what an admin should correct while the process serves; None if nothing.

        A warning makes no replica unready: without an endpoint every request would fail.
        """
        ...

    async def run(self) -> None:
        """Keep the certificate valid until cancelled, also while the API server is unreachable."""
        ...


# The server listens with one SSLContext that never changes; each handshake switches to the newest.
#
# Each pair gets a new context, which replaces the old one. If the webhook loaded another
# certificate into a context in use, a half-written pair would make every later handshake fail.


class ServingContext:
    """Hold `front`, the context to listen with. Handshakes fail before the first `swap`."""

    def __init__(self, current: ssl.SSLContext | None = None) -> None:
        self._current = current
        self.front = server_context()
        self.front.sni_callback = self._switch

    def swap(self, context: ssl.SSLContext) -> None:
        """Use this context from the next handshake on; existing connections continue."""
        self._current = context

    def _switch(self, handshake: ssl.SSLObject, _name: str | None, _front: ssl.SSLContext) -> None:
        if self._current is not None:
            handshake.context = self._current


def server_context() -> ssl.SSLContext:
    """Make a server context without a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # No tickets: a client that resumes a session does not receive the new certificate. API servers
    # never resume one.
    context.num_tickets = 0
    return context


def context_of(pair: KeyPair) -> ssl.SSLContext:
    """Make a server context for this pair."""
    context = server_context()
    load(context, pair)
    return context


def load(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Load this pair into a context that is not in use yet. The key is never written to disk.

    Python's ssl loads certificates only from paths, and a container's file system is read-only. So
    OpenSSL reads from memory that has a path.
    """
    descriptor = os.memfd_create("serving-certificate", os.MFD_CLOEXEC)
    with os.fdopen(descriptor, "wb") as memory:
        memory.write(pair.certificate_pem + pair.key_pem)
        memory.flush()
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")


# An untrusted certificate, so that probes get an answer while there is no other.
#
# The kubelet does not verify certificates. API servers do: they reject this one like a failed
# handshake.

_STOPGAP_NAME: Final = "no-certificate-yet"
_STOPGAP_LIFE: Final = timedelta(days=3650)  # a process that waits as long has other problems


def make_stopgap(now: datetime) -> KeyPair:
    """Make such a certificate and discard its CA's key."""
    authority = make_authority(
        AuthorityName(_STOPGAP_NAME, _STOPGAP_NAME), _STOPGAP_LIFE, now, new_key()
    )
    return issue_leaf(authority, (_STOPGAP_NAME,), _STOPGAP_LIFE, now, new_key())
