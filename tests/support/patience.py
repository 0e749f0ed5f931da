"""Waits for what other programs do, and says how long."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

_Found = TypeVar("_Found")

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


async def until_found(look: Callable[[], Awaitable[_Found | None]]) -> _Found:
    """Call `look` until it finds something. Return exactly this; a second look may find another."""
    found: list[_Found] = []

    async def is_found() -> bool:
        if (seen := await look()) is not None:
            found.append(seen)
        return bool(found)

    await comes_to(is_found, True)
    return found[0]
