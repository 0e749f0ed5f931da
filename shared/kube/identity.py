"""Who we are to the API server, and how we know it: certificates, tokens, and when they changed."""

import asyncio
import logging
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from shared.kube.client import CannotConnect
from shared.process.clock import Clock

# The TLS context of a client of the API server, and when it is made anew.
#
# Client certificates live for hours where somebody rotates them, and the authority's own is
# replaced now and then. A context that was made once at start would lock the process out some
# day.

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


# Where the Authorization header comes from, and when it is read again.
#
# Tokens rotate under a running process: the kubelet replaces the file of a ServiceAccount token,
# an exec plug-in hands out short-lived ones. A token read once at start works for an hour and
# then locks the process out, so every source can be read again, and `RenewedAuthorization`
# decides when.

# How old a token may be before its source is read again. The kubelet replaces a projected token
# long before it expires (at 80 % of its life), so this bounds the delay, not the risk.
REREAD_SECONDS = 10.0
# How long a source may take. A program that asks somebody on the network may hang.
READ_SECONDS = 30.0


class AuthorizationSource(Protocol):
    """A place that the value of the Authorization header can be read from, again and again."""

    def read(self, *, rejected: bool) -> str | None:
        """The header's value; None sends none (client certificates, anonymous).

        `rejected` says that the server did not accept the last one. May block on a file or on a
        program. Raises CannotConnect.
        """
        ...


class FixedAuthorization:
    """A header that never changes: a token written into the kubeconfig, or none at all."""

    def __init__(self, value: str | None) -> None:
        self._value = value

    def read(self, *, rejected: bool) -> str | None:
        """See `AuthorizationSource`."""
        del rejected
        return self._value


class TokenFile:
    """A bearer token in a file that somebody else replaces."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, *, rejected: bool) -> str | None:
        """See `AuthorizationSource`."""
        del rejected
        try:
            token = self._path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise CannotConnect(f"the token file {self._path} cannot be read: {error}") from error
        if not token:
            raise CannotConnect(f"the token file {self._path} is empty")
        return f"Bearer {token}"


class RenewedAuthorization:
    """The current header: from memory while young, else from its source.

    Reading runs in a thread, because a source may start a program; one read at a time serves all
    that wait for it. One that takes too long is not begun again while it goes on.
    """

    def __init__(self, source: AuthorizationSource, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._lock = asyncio.Lock()
        self._value: str | None = None
        self._read_at: float | None = None
        self._reading: asyncio.Task[str | None] | None = None

    async def current(self) -> str | None:
        """The header's value, at most `REREAD_SECONDS` old. Raises CannotConnect.

        A source that fails after it once worked leaves the last value in use: half-written files
        are replaced within moments, and a value that is truly void is answered with 401.
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
        """The header to try next when the server answered 401 to `rejected`; equal means none.

        Raises CannotConnect.
        """
        async with self._lock:
            # Another request may have met the same 401 and read the source already.
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


# Who we are to the API server at this moment: a header, a client certificate, or both.


@dataclass(frozen=True, slots=True)
class Identity:
    """`authorization` is the header's value, None for none. `tls` is None for plain HTTP.

    Equal ones are the same credentials: a context that was read again is another one.
    """

    authorization: str | None
    tls: ssl.SSLContext | None


class RenewedIdentity:
    """Both parts, each read again when it may have changed."""

    def __init__(self, authorization: RenewedAuthorization, tls: RenewedTls) -> None:
        self._authorization = authorization
        self._tls = tls

    async def current(self) -> Identity:
        """Raises CannotConnect."""
        return Identity(await self._authorization.current(), await self._tls.current())

    async def after_rejection(self, rejected: Identity) -> Identity:
        """What to try next when the server answered 401; equal means that there is nothing new.

        Raises CannotConnect.
        """
        return Identity(
            await self._authorization.after_rejection(rejected.authorization),
            await self._tls.after_rejection(rejected.tls),
        )
