"""Waits for other programs, with a time limit."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from localcluster.machine.slowness import stretched

_Found = TypeVar("_Found")

# On a machine of two cores with a load of twenty, a step of one second takes as long as this.
PATIENCE_SECONDS = stretched(120.0)
LOOK_EVERY_SECONDS = 0.2
# A pause is this part of the time waited so far, at least the one above: in a long wait `kubectl`
# would compute half of the time.
_PART_OF_WAIT, _LONGEST_PAUSE = 0.1, 1.0
# What the wait of one kubectl gets: a rolling update starts and ends several pods.
KUBECTL_PATIENCE = f"--timeout={stretched(300.0):.0f}s"


async def comes_to(
    look: Callable[[], Awaitable[object]], expected: object, seconds: float = PATIENCE_SECONDS
) -> None:
    """Polls until it gets the expected value; fails with the last value."""
    began = asyncio.get_running_loop().time()
    while (seen := await look()) != expected:
        waited = asyncio.get_running_loop().time() - began
        if waited > seconds:
            assert seen == expected, f"after {seconds:g} s"
        await asyncio.sleep(min(max(LOOK_EVERY_SECONDS, _PART_OF_WAIT * waited), _LONGEST_PAUSE))


async def until_found(look: Callable[[], Awaitable[_Found | None]]) -> _Found:
    """Calls `look` until it finds something. Returns exactly this; another call may find
    another.
    """
    found: list[_Found] = []

    async def is_found() -> bool:
        if (seen := await look()) is not None:
            found.append(seen)
        return bool(found)

    await comes_to(is_found, True)
    return found[0]
