"""Serve certificates of every source: TLS contexts, and a stopgap until there is a certificate."""

import os
import ssl
from datetime import datetime, timedelta
from typing import Final

from webhook.tls.issue import issue_leaf, make_authority, new_key
from webhook.tls.key_pair import KeyPair

# The server listens with one SSLContext that never changes; each handshake switches to the newest.
#
# Each pair gets a new context, which replaces the old one. If the webhook loaded another
# certificate into a context in use, a half-written pair would make every later handshake fail.


class ServingContext:
    """Hold `front`, the context to listen with.

    Before the first `swap` handshakes use the certificate that was loaded into `front`; without one
    they fail.
    """

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
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # No tickets: a client that resumes a session does not receive the new certificate. API servers
    # never resume one.
    context.num_tickets = 0
    return context


def context_of(pair: KeyPair) -> ssl.SSLContext:
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
    authority = make_authority(_STOPGAP_NAME, _STOPGAP_NAME, _STOPGAP_LIFE, now, new_key())
    return issue_leaf(authority, (_STOPGAP_NAME,), _STOPGAP_LIFE, now, new_key())
