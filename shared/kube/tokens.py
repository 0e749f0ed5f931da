"""Where the Authorization header comes from, and when it is read again.

Tokens rotate under a running process: the kubelet replaces the file of a ServiceAccount token, an
exec plug-in hands out short-lived ones. A token read once at start works for an hour and then
locks the process out, so every source can be read again, and `RenewedAuthorization` decides when.
"""

import asyncio
from pathlib import Path
from typing import Protocol

from shared.clock import Clock
from shared.kube.errors import CannotConnect

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
