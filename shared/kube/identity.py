"""Hold the client's identity (certificates, tokens) and reload it when its source changes."""

import asyncio
import logging
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from shared.kube.client import CannotConnect
from shared.process.clock import Clock

# TLS contexts. Rotated client certificates live for hours, and an authority's own certificate is
# replaced now and then. A context made once at start would stop working one day.

logger = logging.getLogger(__name__)

# Seconds between two checks of the files.
CHECK_SECONDS: Final = 10.0

# Inode, size and time of each file: a replaced file differs in one of them.
_State = tuple[tuple[int, int, int] | None, ...]


class TlsSource(Protocol):
    """A source of TLS contexts that can be read repeatedly."""

    @property
    def context(self) -> ssl.SSLContext | None:
        """Return the latest context; None for plain HTTP."""
        ...

    def read_if_changed(self) -> None:
        """Make a new context if its sources changed. May block on files.

        Raise CannotConnect on failure, and keep the last context in use.
        """
        ...


class FixedTls:
    """A context that never changes: from certificates inside the kubeconfig, or none at all."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.context = context

    def read_if_changed(self) -> None:
        """Do nothing: the context never changes."""


class TlsFiles:
    """Read PEM files that another program may replace. `client_tls` explains the arguments.

    The constructor reads them at once and raises CannotConnect.
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
        """Make a new context if a file changed.

        A certificate and its key are two files. A read between their two replacements fails, and
        the next check finds the matching pair.
        """
        state = self._state()
        if state == self._read:
            return
        self.context = self._made()
        # Keep the state from before the reading: a file replaced meanwhile is then read again.
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
    """Hold the current context. A thread checks it every `CHECK_SECONDS` and after a rejection."""

    def __init__(self, source: TlsSource, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._lock = asyncio.Lock()
        self._checked_at = clock.monotonic()

    async def current(self) -> ssl.SSLContext | None:
        """Return the context. Never fail: if files are unusable, the last context stays in use."""
        if not self._is_young():
            async with self._lock:
                if not self._is_young():
                    await self._check()
        return self._source.context

    async def after_rejection(self, rejected: ssl.SSLContext | None) -> ssl.SSLContext | None:
        """Return the context to try after a 401; the rejected one itself if there is no newer."""
        async with self._lock:
            if self._source.context is rejected:
                await self._check()
        return self._source.context

    def _is_young(self) -> bool:
        return self._clock.monotonic() - self._checked_at < CHECK_SECONDS

    async def _check(self) -> None:
        try:
            await asyncio.to_thread(self._source.read_if_changed)
        except CannotConnect as error:
            logger.warning("%s; the last ones stay in use", error)
        self._checked_at = self._clock.monotonic()


def client_tls(
    *,
    authority: str | None,
    certificate: str | None,
    key: str | None,
    verify: bool,
    origin: str,
    authority_text: str | None = None,
) -> ssl.SSLContext:
    """Make a client context from paths of PEM files. `authority_text` is an authority's PEM.

    Without an authority, trust the machine's own. If `verify` is False, trust any server, as the
    kubeconfig's insecure-skip-tls-verify requests. `origin` names the source of the paths in
    messages. Raise CannotConnect.
    """
    try:
        context = ssl.create_default_context(cafile=authority, cadata=authority_text)
        if certificate:
            context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        # OpenSSL's error does not name the file that it could not open.
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


# The Authorization header. Tokens rotate while the process runs: the kubelet replaces the file of a
# ServiceAccount token, an exec plug-in returns short-lived tokens. A token read only at start stops
# working after an hour. Every source can therefore be read again, and `RenewedAuthorization`
# decides when.

# Seconds until a token is read again. The kubelet replaces a projected token long before it expires
# (at 80 % of its life), so this limits the delay, not the risk.
REREAD_SECONDS = 10.0
# Seconds for one read. A program that sends network requests may hang.
READ_SECONDS = 30.0


class AuthorizationSource(Protocol):
    """A source of Authorization headers that can be read repeatedly."""

    def read(self, *, rejected: bool) -> str | None:
        """Return the header's value; None sends no header (client certificates, anonymous).

        `rejected`: the server did not accept the last value. May block on a file or a program.
        Raise CannotConnect.
        """
        ...


class FixedAuthorization:
    """A header that never changes: a token written into the kubeconfig, or none at all."""

    def __init__(self, value: str | None) -> None:
        self._value = value

    def read(self, *, rejected: bool) -> str | None:
        del rejected
        return self._value


class TokenFile:
    """Read a bearer token from a file that another program may replace."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, *, rejected: bool) -> str | None:
        del rejected
        try:
            token = self._path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise CannotConnect(f"the token file {self._path} cannot be read: {error}") from error
        if not token:
            raise CannotConnect(f"the token file {self._path} is empty")
        return f"Bearer {token}"


class RenewedAuthorization:
    """Hold the current header: from memory while young, otherwise from its source.

    A read runs in a thread, because a source may start a program. One read at a time serves all
    waiting callers. A read that exceeds its time continues, and no second read starts meanwhile.
    """

    def __init__(self, source: AuthorizationSource, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._lock = asyncio.Lock()
        self._value: str | None = None
        self._read_at: float | None = None
        self._reading: asyncio.Task[str | None] | None = None

    async def current(self) -> str | None:
        """Return the header's value, at most `REREAD_SECONDS` old. Raise CannotConnect.

        If a source fails after a success, the last value stays in use. A half-written file is
        replaced within moments, and the server answers an expired value with 401.
        """
        if self._is_young():
            return self._value
        async with self._lock:
            if self._is_young():
                return self._value
            try:
                await self._read(rejected=False)
            except CannotConnect:
                if self._read_at is None:
                    raise
                self._read_at = self._clock.monotonic()
            return self._value

    async def after_rejection(self, rejected: str | None) -> str | None:
        """Return the header to try after a 401; `rejected` itself if there is no newer.

        Raise CannotConnect.
        """
        async with self._lock:
            # Another request may already have read the source after the same 401.
            if self._value == rejected:
                await self._read(rejected=True)
            return self._value

    def _is_young(self) -> bool:
        if self._read_at is None:
            return False
        return self._clock.monotonic() - self._read_at < REREAD_SECONDS

    async def _read(self, *, rejected: bool) -> None:
        if self._reading is None:
            self._reading = asyncio.create_task(
                asyncio.to_thread(self._source.read, rejected=rejected)
            )
        try:
            async with self._clock.timeout(READ_SECONDS):
                self._value = await asyncio.shield(self._reading)
        except TimeoutError as error:
            raise CannotConnect(
                f"the credentials could not be read within {READ_SECONDS:.0f} s"
            ) from error
        finally:
            if self._reading.done():
                self._reading = None
        self._read_at = self._clock.monotonic()


@dataclass(frozen=True, slots=True)
class Identity:
    """Credentials of one request: a header, a client certificate, or both.

    `authorization` is the header's value, None for none. `tls` is None for plain HTTP. Equal
    identities hold the same credentials; a context that was read again is not equal.
    """

    authorization: str | None
    tls: ssl.SSLContext | None


class RenewedIdentity:
    """Hold both parts and read each again when it may have changed."""

    def __init__(self, authorization: RenewedAuthorization, tls: RenewedTls) -> None:
        self._authorization = authorization
        self._tls = tls

    async def current(self) -> Identity:
        """Raise CannotConnect if a part cannot be read."""
        return Identity(await self._authorization.current(), await self._tls.current())

    async def after_rejection(self, rejected: Identity) -> Identity:
        """Return the identity to try after a 401; equal to `rejected` if nothing changed.

        Raise CannotConnect.
        """
        return Identity(
            await self._authorization.after_rejection(rejected.authorization),
            await self._tls.after_rejection(rejected.tls),
        )
