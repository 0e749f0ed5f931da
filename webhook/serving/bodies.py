"""How much of what clients send is held and decoded at once: anybody in the cluster can send.

Nothing here refuses anybody as long as there is room, and whoever sends slowly goes first.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from starlette.requests import Request

# Bytes of every body that are counted nowhere: nearly all reviews have less, and are never kept
# waiting by large ones. The number of connections bounds them.
SMALL: Final = 64 * 1024
# Bytes of all bodies beyond that, from the first one read until its request is answered.
MOST_HELD: Final = 32 << 20
# Bytes of bodies that are decoded and judged at once, which can take twenty times their size. Small
# and large ones each have their own, so that they do not wait for each other.
MOST_JUDGED: Final = 8 << 20
MOST_JUDGED_SMALL: Final = 4 << 20
# Seconds for a body. The API server gives up after as many; who is slower only holds a connection.
LONGEST_UPLOAD: Final = 10.0
# Rounds of the event loop between two large ones, each of which can take a tenth of a second: in so
# many somebody small connects, asks and is answered.
_ROUNDS: Final = 5
# Seconds for its turn to be judged.
LONGEST_LINE: Final = 8.0


class BodyTooLarge(Exception):
    """A body above the limit: reading stopped there."""


class GaveWay(Exception):
    """The body was given up, since there was no room for all. The message says why."""


class Upload:
    """One body, from its first byte until its request is answered."""

    def __init__(self, bodies: "Bodies", limit: asyncio.Timeout) -> None:
        self._bodies = bodies
        self._limit = limit
        self.held = 0  # bytes that are counted
        self.gave_way = False

    async def read(self, request: Request, most: int) -> bytes:
        """The whole body.

        Raises ClientDisconnect, GaveWay, TimeoutError, and BodyTooLarge as soon as it exceeds
        `most` bytes.
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
            if self.gave_way:
                raise GaveWay("the body came too slowly for the room that there is") from None
            raise
        self._bodies.complete(self)
        return b"".join(chunks)

    def give_way(self) -> None:
        """Ends reading."""
        self.gave_way = True
        if not self._limit.expired():  # and is ending already
            self._limit.reschedule(asyncio.get_running_loop().time())


class Bodies:
    """The room for all of them. While there is none, the oldest unfinished one gives way.

    An API server sends a body at once. Who sends the most and never comes to an end is dropped as
    soon as somebody else needs the room. Where all are complete, who still sends waits for them.
    """

    def __init__(self, most: int = MOST_HELD) -> None:
        self._left = most
        self._unfinished: dict[Upload, None] = {}  # the oldest first
        self._freed = asyncio.Event()

    @contextmanager
    def upload(self) -> Iterator[Upload]:
        """For one body; what it holds is given back at the end."""
        upload = Upload(self, asyncio.timeout(LONGEST_UPLOAD))
        self._unfinished[upload] = None
        try:
            yield upload
        finally:
            self.complete(upload)
            self._give_back(upload)

    async def hold(self, upload: Upload, size: int) -> None:
        """Waits until this upload may hold so many bytes in all."""
        while (more := size - upload.held) > 0:
            if more <= self._left:
                self._left -= more
                upload.held = size
            elif not self._drop_another(upload):
                self._freed.clear()
                await self._freed.wait()

    def complete(self, upload: Upload) -> None:
        """Nothing more comes, so it gives way to nobody."""
        self._unfinished.pop(upload, None)

    def _drop_another(self, upload: Upload) -> bool:
        for other in self._unfinished:
            if other is not upload and other.held:
                self.complete(other)
                self._give_back(other)
                other.give_way()
                return True
        return False

    def _give_back(self, upload: Upload) -> None:
        if upload.held:
            self._left += upload.held
            upload.held = 0
            self._freed.set()


class Turns:
    """Bodies are judged in the order in which they came, as many at once as there is room for.

    Before each of them the event loop makes `rounds`, in which it answers others.
    """

    def __init__(self, most: int, *, rounds: int = 0) -> None:
        self._left = most
        self._rounds = rounds
        self._next = asyncio.Lock()
        self._line: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def begin(self, size: int) -> None:
        """Waits for the turn of a body. Raises GaveWay where that takes too long."""
        await self._take(size)
        if not self._rounds:
            return
        try:
            async with self._next:
                for _ in range(self._rounds):
                    await asyncio.sleep(0)
        except BaseException:
            self.end(size)
            raise

    async def _take(self, size: int) -> None:
        if not self._line and size <= self._left:
            self._left -= size
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        place = (size, turn)
        self._line.append(place)
        try:
            async with asyncio.timeout(LONGEST_LINE):
                await turn
        except BaseException as error:
            if place in self._line:
                self._line.remove(place)
            elif not turn.cancelled():
                self.end(size)  # the turn came at the same moment
            if isinstance(error, TimeoutError):
                raise GaveWay("too many large requests are being checked") from None
            raise

    def end(self, size: int) -> None:
        """The request is answered."""
        self._left += size
        while self._line and self._line[0][0] <= self._left:
            size, turn = self._line.popleft()
            if not turn.cancelled():
                self._left -= size
                turn.set_result(None)


class Room:
    """All of it: shared by everything that takes bodies."""

    def __init__(self) -> None:
        self.bodies = Bodies()
        self._small, self._large = Turns(MOST_JUDGED_SMALL), Turns(MOST_JUDGED, rounds=_ROUNDS)

    def turns(self, body: bytes) -> Turns:
        """Those of a body of this size."""
        return self._small if len(body) <= SMALL else self._large
