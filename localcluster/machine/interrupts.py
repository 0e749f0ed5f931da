"""Ends a command in order after Ctrl-C or SIGTERM: first all that it started, then the command.

A second Ctrl-C changes nothing: an interrupted stop, which takes seconds, would leave things
behind.

A foreground command also ends when its parent is killed. `kill -9` of `make` reaches only make;
without this the command below it would keep its cluster running unseen.
"""

import asyncio
import os
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from localcluster.machine.parent import signal_at_parents_end

_Result = TypeVar("_Result")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """The user stopped the command."""


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


def end_with_parent() -> None:
    """Sends this process SIGTERM when its parent ends, so that it stops in order.

    Call it from the main thread. Raises OSError if the kernel refuses.
    """
    parent = os.getppid()
    signal_at_parents_end(signal.SIGTERM)
    # The parent may have ended before the call above: then no signal would come.
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
