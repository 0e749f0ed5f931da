"""Serve a certificate from two files, which change as those of a mounted Secret do."""

import logging
import ssl
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509

from shared.process.clock import Clock
from shared.process.file_states import FileStates, file_states
from webhook.tls.serving_context import ServingContext, server_context

_log: Final = logging.getLogger(__name__)

CERTIFICATE_FILE: Final = "tls.crt"
KEY_FILE: Final = "tls.key"
_CHECK_PERIOD: Final = 10.0  # seconds; a mounted Secret takes a minute to change anyway


class CertificateError(Exception):
    """Raised for a certificate that cannot be served. The message names the file and the fix."""


@dataclass(frozen=True, slots=True)
class _Served:
    context: ssl.SSLContext
    certificate: x509.Certificate
    states: FileStates


class FileCertificateSource:
    """Serve `tls.crt` and `tls.key` of a folder through one SSLContext that never changes."""

    def __init__(self, folder: Path, settle_period: timedelta, clock: Clock) -> None:
        """Read the pair. Raise CertificateError."""
        self._certificate = folder / CERTIFICATE_FILE
        self._key = folder / KEY_FILE
        self._settle_period = settle_period.total_seconds()
        self._clock = clock
        self._served = self._read()
        # In a new installation cert-manager has only just issued the pair, and its CA too.
        self._settled_at = self._served.certificate.not_valid_before_utc + settle_period
        # A newer pair, and the monotonic time when `reload` found it.
        self._next: tuple[_Served, float] | None = None
        self._serving = ServingContext(self._served.context)

    @property
    def context(self) -> ssl.SSLContext:
        """Return the context to listen with."""
        return self._serving.front

    @property
    def not_after(self) -> datetime | None:
        """Return when the served certificate expires."""
        return self._served.certificate.not_valid_after_utc

    def problem(self) -> str | None:
        """Return why clients will not accept the connection; None if they will."""
        now, end = self._clock.now(), self._served.certificate.not_valid_after_utc
        if now >= end:
            return f"{self._certificate}: the certificate expired at {end}"
        if now < self._settled_at:
            return (
                f"{self._certificate}: the certificate is new; API servers may not trust its CA "
                f"before {self._settled_at}"
            )
        return None

    def warning(self) -> str | None:
        """Return None: the log reports what is wrong with new files."""
        return None

    def reload(self) -> bool:
        """Serve a changed pair once it has settled. True if it does so now.

        A new CA reaches the caBundle by another way than the files, so API servers may not trust
        it yet. An expired pair is replaced at once. A broken pair is logged, and the old one stays.
        """
        if file_states((self._certificate, self._key)) == self._served.states:
            return False
        try:
            found = self._read()
        except CertificateError as error:
            _log.warning("the old certificate stays in use: %s", error)
            return False
        if self._next is None or self._next[0].states != found.states:
            self._next = found, self._clock.monotonic()
        _, since = self._next
        settled = self._clock.monotonic() - since >= self._settle_period
        expired = self._clock.now() >= self._served.certificate.not_valid_after_utc
        if not settled and not expired:
            return False
        self._served, self._next = found, None
        self._serving.swap(found.context)
        end = found.certificate.not_valid_after_utc
        _log.info("took up a new certificate, valid until %s", end)
        return True

    async def run(self) -> None:
        """Load changed files until cancelled."""
        while True:
            await self._clock.sleep(_CHECK_PERIOD)
            self.reload()

    def _read(self) -> _Served:
        states = file_states((self._certificate, self._key))
        certificate = self._load()
        context = server_context()
        try:
            context.load_cert_chain(self._certificate, self._key, password=self._no_password)
        except OSError as error:  # ssl.SSLError is one
            reason = getattr(error, "reason", None) or error.strerror or str(error)
            raise CertificateError(
                f"{self._certificate} and {self._key} are no usable pair of certificate and key: "
                f"{reason}"
            ) from error
        return _Served(context, certificate, states)

    def _no_password(self) -> str:
        """Raise CertificateError for an encrypted key; OpenSSL would ask on the terminal."""
        raise CertificateError(f"{self._key} is encrypted; the webhook needs it in the clear")

    def _load(self) -> x509.Certificate:
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
            return x509.load_pem_x509_certificate(text)
        except ValueError as error:
            raise CertificateError(f"{self._certificate} holds no PEM certificate") from error
