"""Ctrl-C and SIGTERM end a command in order: everything it started is stopped, then it exits.

A second Ctrl-C changes nothing: stopping takes seconds, and half of it would leave things behind.
"""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """Somebody asked the command to end."""


def interruptible(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Runs `work` to its end. A signal cancels it; once it has cleaned up, raises Interrupted."""
    return asyncio.run(_guarded(work))


async def _guarded(work: Coroutine[Any, Any, _Result]) -> _Result:
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    asked = False

    def ask_once() -> None:
        nonlocal asked
        if not asked:
            asked = True
            task.cancel()

    for number in SIGNALS:
        loop.add_signal_handler(number, ask_once)
    try:
        return await task
    except asyncio.CancelledError:
        if asked:
            raise Interrupted from None
        raise
