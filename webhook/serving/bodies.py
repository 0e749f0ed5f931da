"""Limit the bodies that are held and decoded at once: every client in the cluster can send some.

No body is rejected while there is room. Without room, the slowest upload is dropped first.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from starlette.requests import Request

# Bytes of each body that no limit counts: nearly all reviews have fewer and never wait for large
# ones. The number of connections limits their sum.
SMALL: Final = 64 * 1024
# Bytes of all bodies beyond that, from the first one read until the request is answered.
MOST_HELD: Final = 32 << 20
# Bytes of bodies that are decoded and checked at once, which can take twenty times their size.
# Small and large bodies have separate limits, so that they do not wait for each other.
MOST_JUDGED: Final = 8 << 20
MOST_JUDGED_SMALL: Final = 4 << 20
# Seconds for a body. The API server gives up after as many; slower clients only hold a connection.
LONGEST_UPLOAD: Final = 10.0
# Rounds of the event loop between two large bodies, each of which can take a tenth of a second. In
# these rounds a client with a small body connects and gets its answer.
_ROUNDS: Final = 5
# Seconds that a body waits until it is checked.
LONGEST_LINE: Final = 8.0


class BodyTooLarge(Exception):
    """Raised for a body above the limit. The rest of it was not read."""


class UploadEvicted(Exception):
    """Raised for a body that was dropped for lack of room. The message names the reason."""


class Upload:
    """One body, from its first byte until its request is answered."""

    def __init__(self, bodies: "BodyBudget", limit: asyncio.Timeout) -> None:
        self._bodies = bodies
        self._limit = limit
        self.held = 0  # counted bytes
        self.evicted = False

    async def read(self, request: Request, most: int) -> bytes:
        """Return the whole body.

        Raise ClientDisconnect, UploadEvicted, TimeoutError, and BodyTooLarge as soon as the body
        exceeds `most` bytes.
        """
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > most:
            raise BodyTooLarge(f"the body is larger than {most} bytes")
        chunks: list[bytes] = []
        size = 0
        try:
            async with self._limit:
                async for chunk in request.stream():
                    size += len(chunk)
                    if size > most:
                        raise BodyTooLarge(f"the body is larger than {most} bytes")
                    await self._bodies.hold(self, size - SMALL)
                    chunks.append(chunk)
        except TimeoutError:
            if self.evicted:
                raise UploadEvicted("the body came too slowly for the room that there is") from None
            raise
        self._bodies.complete(self)
        return b"".join(chunks)

    def evict(self) -> None:
        """End the upload: `read` raises UploadEvicted."""
        self.evicted = True
        if not self._limit.expired():  # an expired limit ends the upload anyway
            self._limit.reschedule(asyncio.get_running_loop().time())


class BodyBudget:
    """Share the room among all bodies. If it is full, drop the oldest unfinished upload.

    An API server sends a body at once. A client that never completes its body is dropped as soon as
    another one needs the room. If all held bodies are complete, new uploads wait for them.
    """

    def __init__(self, most: int = MOST_HELD) -> None:
        self._left = most
        self._unfinished: dict[Upload, None] = {}  # the oldest first
        self._freed = asyncio.Event()

    @contextmanager
    def upload(self) -> Iterator[Upload]:
        """Manage one body; its room is released at the end."""
        upload = Upload(self, asyncio.timeout(LONGEST_UPLOAD))
        self._unfinished[upload] = None
        try:
            yield upload
        finally:
            self.complete(upload)
            self._give_back(upload)

    async def hold(self, upload: Upload, size: int) -> None:
        """Wait until this upload may hold `size` bytes in all."""
        while (more := size - upload.held) > 0:
            if more <= self._left:
                self._left -= more
                upload.held = size
            elif not self._drop_another(upload):
                self._freed.clear()
                await self._freed.wait()

    def complete(self, upload: Upload) -> None:
        """Mark a body as complete: other uploads no longer displace it."""
        self._unfinished.pop(upload, None)

    def _drop_another(self, upload: Upload) -> bool:
        for other in self._unfinished:
            if other is not upload and other.held:
                self.complete(other)
                self._give_back(other)
                other.evict()
                return True
        return False

    def _give_back(self, upload: Upload) -> None:
        if upload.held:
            self._left += upload.held
            upload.held = 0
            self._freed.set()


class DecodeQueue:
    """Check bodies in the order of their arrival, as many at once as there is room for.

    Before each body the event loop runs `rounds` rounds, in which it answers other requests.
    """

    def __init__(self, most: int, *, rounds: int = 0) -> None:
        self._left = most
        self._rounds = rounds
        self._first = asyncio.Lock()
        self._freed = asyncio.Event()

    @asynccontextmanager
    async def turn(self, size: int) -> AsyncIterator[None]:
        """Hold the room of a body. Raise UploadEvicted if it has to wait too long."""
        if self._rounds or self._first.locked() or size > self._left:
            try:
                # The first in line waits for room, the others for the first.
                async with asyncio.timeout(LONGEST_LINE), self._first:
                    await self._wait_for_room(size)
                    self._left -= size
            except TimeoutError:
                raise UploadEvicted("too many large requests are being checked") from None
        else:
            self._left -= size
        try:
            yield
        finally:
            self._left += size
            self._freed.set()

    async def _wait_for_room(self, size: int) -> None:
        while size > self._left:
            self._freed.clear()
            await self._freed.wait()
        for _ in range(self._rounds):
            await asyncio.sleep(0)


class BodyLimits:
    """All limits of a process, shared by its paths."""

    def __init__(self) -> None:
        self.budget = BodyBudget()
        self._small = DecodeQueue(MOST_JUDGED_SMALL)
        self._large = DecodeQueue(MOST_JUDGED, rounds=_ROUNDS)

    def queue(self, body: bytes) -> DecodeQueue:
        return self._small if len(body) <= SMALL else self._large
