"""Run blocking calls that may hang in daemon threads, so that the process can end.

At exit Python waits for every thread of a ThreadPoolExecutor. A call that hangs on a volume
without a server would then keep a controller that lost its lease from restarting.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

from shared.process.sources import StartThread

T = TypeVar("T")


class DaemonThreads:
    """Runs at most `most` calls at a time; a call that never returns keeps its slot."""

    def __init__(self, most: int, name: str, start: StartThread) -> None:
        self._places = asyncio.Semaphore(most)
        self._start = start
        self._name = name

    async def run(self, call: Callable[[], T]) -> T:
        """Return the call's result or raise its error. After cancellation the call continues."""
        await self._places.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def work() -> None:
            try:
                tell = partial(answer.set_result, call())
            except Exception as error:  # noqa: BLE001  raised in the awaiting task
                tell = partial(answer.set_exception, error)
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(finish, tell)

        def finish(tell: Callable[[], None]) -> None:
            self._places.release()
            if not answer.cancelled():
                tell()

        self._start(work, self._name)
        return await answer
