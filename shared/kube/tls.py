"""The TLS context of a client of the API server, and when it is made anew.

Client certificates live for hours where somebody rotates them, and the authority's own is replaced
now and then. A context that was made once at start would lock the process out some day.
"""

import asyncio
import logging
import os
import ssl
from pathlib import Path
from typing import Final, Protocol

from shared.clock import Clock
from shared.kube.errors import CannotConnect

logger = logging.getLogger(__name__)

# Seconds between two looks at the files.
LOOK_SECONDS: Final = 10.0

# What a replaced file differs in: inode, size and time, for each file.
_State = tuple[tuple[int, int, int] | None, ...]


class TlsSource(Protocol):
    """A place that the context can be read from, again and again."""

    @property
    def context(self) -> ssl.SSLContext | None:
        """The latest; None for plain HTTP."""
        ...

    def read_if_changed(self) -> None:
        """Makes a new context where what it is made from has changed. May block on files.

        Raises CannotConnect, and then leaves the last one in use.
        """
        ...


class FixedTls:
    """A context that never changes: from certificates inside the kubeconfig, or none at all."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.context = context

    def read_if_changed(self) -> None:
        """See `TlsSource`."""


class TlsFiles:
    """PEM files that somebody else replaces. Read at once: raises CannotConnect.

    For the arguments see `client_tls`.
    """

    def __init__(
        self,
        *,
        authority: str | None,
        certificate: str | None,
        key: str | None,
        verify: bool,
        origin: str,
        authority_text: str | None = None,
    ) -> None:
        self._authority = authority
        self._authority_text = authority_text
        self._certificate = certificate
        self._key = key
        self._verify = verify
        self._origin = origin
        self._read = self._state()
        self.context: ssl.SSLContext | None = self._made()

    def read_if_changed(self) -> None:
        """See `TlsSource`. A certificate and its key are two files: between them they do not fit,
        and the next look finds the whole pair."""
        state = self._state()
        if state == self._read:
            return
        self.context = self._made()
        # Of before the reading: what is replaced meanwhile is read again.
        self._read = state
        logger.info("the certificates of %s were replaced and are read anew", self._origin)

    def _made(self) -> ssl.SSLContext:
        return client_tls(
            authority=self._authority,
            authority_text=self._authority_text,
            certificate=self._certificate,
            key=self._key,
            verify=self._verify,
            origin=self._origin,
        )

    def _state(self) -> _State:
        files = (self._authority, self._certificate, self._key)
        return tuple(_state_of(Path(file)) for file in files if file)


class RenewedTls:
    """The current context: looked at in a thread every `LOOK_SECONDS`, and after a rejection."""

    def __init__(self, source: TlsSource, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._lock = asyncio.Lock()
        self._looked_at = clock.monotonic()

    async def current(self) -> ssl.SSLContext | None:
        """Never fails: files that cannot be used leave the last context in use."""
        if not self._is_young():
            async with self._lock:
                if not self._is_young():
                    await self._look()
        return self._source.context

    async def after_rejection(self, rejected: ssl.SSLContext | None) -> ssl.SSLContext | None:
        """The context to try next when the server answered 401; the same one means none."""
        async with self._lock:
            if self._source.context is rejected:
                await self._look()
        return self._source.context

    def _is_young(self) -> bool:
        return self._clock.monotonic() - self._looked_at < LOOK_SECONDS

    async def _look(self) -> None:
        try:
            await asyncio.to_thread(self._source.read_if_changed)
        except CannotConnect as error:
            logger.warning("%s; the last ones stay in use", error)
        self._looked_at = self._clock.monotonic()


def client_tls(
    *,
    authority: str | None,
    certificate: str | None,
    key: str | None,
    verify: bool,
    origin: str,
    authority_text: str | None = None,
) -> ssl.SSLContext:
    """A client context from paths of PEM files; `authority_text` is the authority's PEM itself.

    With neither authority the machine's own are trusted; `verify` False trusts anybody, as the
    kubeconfig's insecure-skip-tls-verify asks. `origin` names where the paths come from.
    Raises CannotConnect.
    """
    try:
        context = ssl.create_default_context(cafile=authority, cadata=authority_text)
        if certificate:
            context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        # OpenSSL does not say which file it could not open.
        unreadable = [
            path for path in (authority, certificate, key) if path and not os.access(path, os.R_OK)
        ]
        why = f"{', '.join(unreadable)} cannot be read" if unreadable else str(error)
        raise CannotConnect(f"the certificates of {origin} cannot be used: {why}") from error
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _state_of(file: Path) -> tuple[int, int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
