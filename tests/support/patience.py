"""Waits for what other programs do, and says how long."""

import asyncio
from collections.abc import Awaitable, Callable

# A machine of two cores with a load of twenty takes so long for what else takes a second.
PATIENCE_SECONDS = 120.0
LOOK_EVERY_SECONDS = 0.2


async def comes_to(
    look: Callable[[], Awaitable[object]], expected: object, seconds: float = PATIENCE_SECONDS
) -> None:
    """Looks until it sees what is expected; fails with what was there instead."""
    deadline = asyncio.get_running_loop().time() + seconds
    while (seen := await look()) != expected:
        if asyncio.get_running_loop().time() > deadline:
            assert seen == expected, f"after {seconds:g} s"
        await asyncio.sleep(LOOK_EVERY_SECONDS)
