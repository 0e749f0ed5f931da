"""Serve the certificate of two files, and load the files again when they change."""

import logging
import os
import ssl
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from cryptography import x509

from shared.process.clock import Clock
from webhook.tls.source import ServingContext, server_context

_log: Final = logging.getLogger(__name__)

CERTIFICATE_FILE: Final = "tls.crt"
KEY_FILE: Final = "tls.key"
_CHECK_PERIOD: Final = 10.0  # seconds; a mounted Secret takes a minute to change anyway


class CertificateError(Exception):
    """Raised for a certificate that cannot be served. The message names the file and the fix."""


@dataclass(frozen=True, slots=True)
class _Served:
    context: ssl.SSLContext
    not_after: datetime
    stamp: tuple[object, ...]


class FileCertificateSource:
    """Serve `tls.crt` and `tls.key` of a folder through one SSLContext that never changes."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        """Read the pair. Raise CertificateError."""
        self._certificate = folder / CERTIFICATE_FILE
        self._key = folder / KEY_FILE
        self._clock = clock
        self._served = self._read()
        self._serving = ServingContext(self._served.context)

    @property
    def context(self) -> ssl.SSLContext:
        """Return the context to listen with."""
        return self._serving.front

    @property
    def not_after(self) -> datetime | None:
        """Return when the served certificate expires."""
        return self._served.not_after

    def problem(self) -> str | None:
        """Return why clients will not accept the connection; None if they will."""
        if self._clock.now() < self._served.not_after:
            return None
        return f"{self._certificate}: the certificate expired at {self._served.not_after}"

    def warning(self) -> str | None:
        """Return None: the log reports what is wrong with new files."""
        return None

    def reload(self) -> bool:
        """Load a changed pair. True if there was one. Log a broken pair and keep the old one."""
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
        """Load changed files until cancelled."""
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
        """Raise CertificateError for an encrypted key; OpenSSL would ask on the terminal."""
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
    """Return a value that changes when a file does. A missing file is a state of its own."""
    stamps: list[object] = []
    for file in files:
        try:
            found = os.stat(file)
        except OSError:
            stamps.append(None)
        else:
            stamps.append((found.st_ino, found.st_mtime_ns, found.st_size))
    return tuple(stamps)
