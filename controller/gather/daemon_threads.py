"""Blocking calls that may hang, in threads that hold up no end of the process.

Python waits at its end for every thread of a ThreadPoolExecutor: a volume whose server is gone
would keep a controller that has lost its lease from beginning anew.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


class DaemonThreads:
    """At most `most` calls at a time. One that never returns keeps its place for good."""

    def __init__(self, most: int, name: str) -> None:
        self._places = asyncio.Semaphore(most)
        self._name = name

    async def run(self, call: Callable[[], T]) -> T:
        """Return what the call returns, or raise what it raises. Cancelled, it goes on unheard."""
        await self._places.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def work() -> None:
            try:
                tell = partial(answer.set_result, call())
            except Exception as error:  # noqa: BLE001  raised where it is waited for
                tell = partial(answer.set_exception, error)
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(finish, tell)

        def finish(tell: Callable[[], None]) -> None:
            self._places.release()
            if not answer.cancelled():
                tell()

        Thread(target=work, name=self._name, daemon=True).start()
        return await answer
