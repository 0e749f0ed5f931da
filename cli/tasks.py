"""Run tasks side by side, and wait for their news."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from shared.process.clock import Clock


@asynccontextmanager
async def one_error() -> AsyncIterator[asyncio.TaskGroup]:
    """Run tasks in a group; raise the first task's own error."""
    try:
        async with asyncio.TaskGroup() as tasks:
            yield tasks
    except ExceptionGroup as group:
        raise group.exceptions[0] from None


async def next_change(changed: asyncio.Event, clock: Clock, seconds: float | None = None) -> None:
    """Wait for the event, at most `seconds`, and clear it."""
    if seconds is None:
        await changed.wait()
    else:
        with suppress(TimeoutError):
            async with clock.timeout(seconds):
                await changed.wait()
    changed.clear()
