"""What serves the webhook's certificate, wherever it comes from; and the source that is two files.

`managed_source` is the other one.
"""

import logging
import os
import ssl
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

from cryptography import x509

from shared.process.clock import Clock
from webhook.tls.decisions.certificates import (
    AuthorityName,
    KeyPair,
    issue_leaf,
    make_authority,
    new_key,
)

_log: Final = logging.getLogger(__name__)


class CertificateSource(Protocol):
    """How a process uses one:

    running = asyncio.create_task(source.run())
    ... until source.problem() is None: a process that listens earlier takes connections from a
        replica that could serve them; then listen with source.context ...
    running.cancel()
    """

    @property
    def context(self) -> ssl.SSLContext:
        """The context to listen with. Each handshake moves on to the newest certificate."""
        ...

    @property
    def not_after(self) -> datetime | None:
        """When the served certificate expires; None while there is none. For a metric."""
        ...

    def problem(self) -> str | None:
        """Why clients will not accept what is served; None when they will. Readiness."""
        ...

    def warning(self) -> str | None:
        """What an admin should put right although serving goes on; None when all is well.

        It is no reason to be not ready: without an endpoint every request would be refused.
        """
        ...

    async def run(self) -> None:
        """Keeps the certificate good until cancelled. An API server that is away ends nothing."""
        ...


# The SSLContext to listen with. It never changes; each handshake moves on to the newest one.
#
# Loading another certificate into a context in use would not do: a half-written pair there makes
# every later handshake fail. So each pair gets a context of its own, which then takes the old
# one's place.


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


# The serving certificate from two files, taken up anew when they change (`source: Files`).

CERTIFICATE_FILE: Final = "tls.crt"
KEY_FILE: Final = "tls.key"
_CHECK_PERIOD: Final = 10.0  # seconds; a mounted Secret takes a minute to change anyway


class CertificateError(Exception):
    """A certificate that cannot be served. The message says which file and what to do."""


@dataclass(frozen=True, slots=True)
class _Served:
    context: ssl.SSLContext
    not_after: datetime
    stamp: tuple[object, ...]


class FileCertificateSource:
    """Serves `tls.crt` and `tls.key` of a folder through one SSLContext that never changes."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        """Reads the pair. Raises CertificateError."""
        self._certificate = folder / CERTIFICATE_FILE
        self._key = folder / KEY_FILE
        self._clock = clock
        self._served = self._read()
        self._serving = ServingContext(self._served.context)

    @property
    def context(self) -> ssl.SSLContext:
        """See `source.CertificateSource`."""
        return self._serving.front

    @property
    def not_after(self) -> datetime | None:
        """See `source.CertificateSource`."""
        return self._served.not_after

    def problem(self) -> str | None:
        """See `source.CertificateSource`."""
        if self._clock.now() < self._served.not_after:
            return None
        return f"{self._certificate}: the certificate expired at {self._served.not_after}"

    def warning(self) -> str | None:
        """See `source.CertificateSource`. What is wrong with new files is in the log."""
        return None

    def reload(self) -> bool:
        """Take up a changed pair; True if there was one. A broken pair is logged, the old stays."""
        if _stamp(self._certificate, self._key) == self._served.stamp:
            return False
        try:
            self._served = self._read()
        except CertificateError as error:
            _log.warning("the old certificate stays in use: %s", error)
            return False
        self._serving.swap(self._served.context)
        _log.info("took up a new certificate, valid until %s", self._served.not_after)
        return True

    async def run(self) -> None:
        """See `source.CertificateSource`."""
        while True:
            await self._clock.sleep(_CHECK_PERIOD)
            self.reload()

    def _read(self) -> _Served:
        stamp = _stamp(self._certificate, self._key)
        not_after = self._expiry()
        context = server_context()
        try:
            context.load_cert_chain(self._certificate, self._key, password=self._no_password)
        except OSError as error:  # ssl.SSLError is one
            reason = getattr(error, "reason", None) or error.strerror or str(error)
            raise CertificateError(
                f"{self._certificate} and {self._key} are no usable pair of certificate and key: "
                f"{reason}"
            ) from error
        return _Served(context, not_after, stamp)

    def _no_password(self) -> str:
        """OpenSSL would otherwise ask on the terminal for the password of an encrypted key."""
        raise CertificateError(f"{self._key} is encrypted; the webhook needs it in the clear")

    def _expiry(self) -> datetime:
        try:
            text = self._certificate.read_bytes()
            self._key.read_bytes()
        except OSError as error:
            raise CertificateError(
                f"{error.filename} cannot be read: {error.strerror}; --cert-dir (or "
                f"certManagement.certificateDir) names the folder with {CERTIFICATE_FILE} and "
                f"{KEY_FILE}"
            ) from error
        try:
            return x509.load_pem_x509_certificate(text).not_valid_after_utc
        except ValueError as error:
            raise CertificateError(f"{self._certificate} holds no PEM certificate") from error


def _stamp(*files: Path) -> tuple[object, ...]:
    """Changes when a file does. A missing file is a state of its own."""
    stamps: list[object] = []
    for file in files:
        try:
            found = os.stat(file)
        except OSError:
            stamps.append(None)
        else:
            stamps.append((found.st_ino, found.st_mtime_ns, found.st_size))
    return tuple(stamps)


# A certificate that nobody trusts, so that probes get an answer while there is no other.
#
# The kubelet verifies no certificates; API servers do, and refuse this one as they would refuse a
# handshake that fails.

_STOPGAP_NAME: Final = "no-certificate-yet"
_STOPGAP_LIFE: Final = timedelta(days=3650)  # a process that waits as long has other problems


def make_stopgap(now: datetime) -> KeyPair:
    """A new one. Its CA's key is forgotten at once."""
    authority = make_authority(
        AuthorityName(_STOPGAP_NAME, _STOPGAP_NAME), _STOPGAP_LIFE, now, new_key()
    )
    return issue_leaf(authority, (_STOPGAP_NAME,), _STOPGAP_LIFE, now, new_key())
