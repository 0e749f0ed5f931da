"""Hold the client's credentials (certificates, tokens); read them again when their source changes.

Tokens and client certificates rotate while the process runs: the kubelet replaces the file of a
ServiceAccount token, an exec plug-in returns short-lived tokens, an authority's own certificate is
replaced now and then. Credentials read only at start stop working one day. Every source can
therefore be read again, and `RenewedCredential` decides when.
"""

import asyncio
import logging
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from shared.kube.client import CannotConnect
from shared.process.clock import Clock
from shared.process.file_states import FileStates, file_states

logger = logging.getLogger(__name__)

# Seconds until a credential is read again. The kubelet replaces a projected token long before it
# expires (at 80 % of its life), so this limits the delay, not the risk.
REREAD_SECONDS: Final = 10.0
# Seconds for one read. A program that sends network requests may hang.
READ_SECONDS: Final = 30.0

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class CredentialSource(Protocol[T_co]):
    """A source of one credential that can be read repeatedly."""

    def read(self, *, rejected: bool) -> T_co:
        """Return the credential: the Authorization header's value, or a TLS context.

        None means no header (client certificates, anonymous), or plain HTTP. `rejected`: the server
        did not accept the last one. May block on a file or a program. Raise CannotConnect.
        """
        ...


AuthorizationSource = CredentialSource[str | None]
TlsSource = CredentialSource[ssl.SSLContext | None]


class FixedCredential(Generic[T]):
    """A credential that never changes: written into the kubeconfig, or none at all."""

    def __init__(self, value: T) -> None:
        self._value = value

    def read(self, *, rejected: bool) -> T:
        del rejected
        return self._value


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCertificates:
    """The PEM files of a TLS client, by path. `authority_text` is an authority's PEM.

    Without an authority, trust the machine's own. If `verify` is False, trust any server, as the
    kubeconfig's insecure-skip-tls-verify requests. `origin` names the source of the paths in
    messages.
    """

    origin: str
    authority: str | None = None
    authority_text: str | None = None
    certificate: str | None = None
    key: str | None = None
    verify: bool = True

    def context(self) -> ssl.SSLContext:
        """Make a context. Raise CannotConnect."""
        try:
            context = ssl.create_default_context(cafile=self.authority, cadata=self.authority_text)
            if self.certificate:
                context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            # OpenSSL's error does not name the file that it could not open.
            unreadable = [path for path in self._paths() if not os.access(path, os.R_OK)]
            why = f"{', '.join(unreadable)} cannot be read" if unreadable else str(error)
            raise CannotConnect(
                f"the certificates of {self.origin} cannot be used: {why}"
            ) from error
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context

    def state(self) -> FileStates:
        return file_states(self._paths())

    def _paths(self) -> list[str]:
        return [path for path in (self.authority, self.certificate, self.key) if path]


class TlsFiles:
    """Read certificates that another program may replace.

    The constructor reads them at once and raises CannotConnect.
    """

    def __init__(self, certificates: ClientCertificates) -> None:
        self._certificates = certificates
        self._state = certificates.state()
        self._context = certificates.context()

    def read(self, *, rejected: bool) -> ssl.SSLContext:
        """Make a new context if a file changed. Never fail: the last one stays in use.

        A certificate and its key are two files. A read between their two replacements fails, and
        the next one finds the matching pair.
        """
        del rejected
        state = self._certificates.state()
        if state == self._state:
            return self._context
        try:
            self._context = self._certificates.context()
        except CannotConnect as error:
            logger.warning("%s; the last ones stay in use", error)
        else:
            # The state from before the reading: a file replaced meanwhile is then read again.
            self._state = state
            origin = self._certificates.origin
            logger.info("the certificates of %s were replaced and are read anew", origin)
        return self._context


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


class RenewedCredential(Generic[T]):
    """Hold the current credential: from memory while young, otherwise from its source.

    A read runs in a thread, because a source may start a program. One read at a time serves all
    waiting callers. A read that exceeds its time continues, and no second read starts meanwhile.
    """

    def __init__(self, source: CredentialSource[T], clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._lock = asyncio.Lock()
        # The credential, and when it was read.
        self._known: tuple[T, float] | None = None
        self._reading: asyncio.Task[T] | None = None

    async def current(self) -> T:
        """Return the credential, at most `REREAD_SECONDS` old. Raise CannotConnect.

        If a source fails after a success, the last value stays in use. A half-written file is
        replaced within moments, and the server answers an expired value with 401.
        """
        if (young := self._young()) is not None:
            return young[0]
        async with self._lock:
            if (young := self._young()) is not None:
                return young[0]
            try:
                return await self._read(rejected=False)
            except CannotConnect:
                if self._known is None:
                    raise
                return self._keep(self._known[0])

    async def after_rejection(self, rejected: T) -> T:
        """Return the credential to try after a 401; `rejected` itself if there is no newer.

        Raise CannotConnect.
        """
        async with self._lock:
            # Another request may already have read the source after the same 401.
            if self._known is not None and self._known[0] != rejected:
                return self._known[0]
            return await self._read(rejected=True)

    def _young(self) -> tuple[T, float] | None:
        known = self._known
        if known is None or self._clock.monotonic() - known[1] >= REREAD_SECONDS:
            return None
        return known

    def _keep(self, value: T) -> T:
        self._known = value, self._clock.monotonic()
        return value

    async def _read(self, *, rejected: bool) -> T:
        if self._reading is None:
            self._reading = asyncio.create_task(
                asyncio.to_thread(self._source.read, rejected=rejected)
            )
        try:
            async with self._clock.timeout(READ_SECONDS):
                return self._keep(await asyncio.shield(self._reading))
        except TimeoutError as error:
            raise CannotConnect(
                f"the credentials could not be read within {READ_SECONDS:.0f} s"
            ) from error
        finally:
            if self._reading.done():
                self._reading = None


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

    def __init__(self, authorization: AuthorizationSource, tls: TlsSource, clock: Clock) -> None:
        self._authorization = RenewedCredential(authorization, clock)
        self._tls = RenewedCredential(tls, clock)

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
