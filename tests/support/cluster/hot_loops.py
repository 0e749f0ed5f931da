"""Detects endless passes and endless writes."""

import asyncio
from collections.abc import Callable
from math import ceil

from localcluster.machine.slowness import stretched
from tests.support.cluster.life import Life
from tests.support.observer.controller_words import ControllerWords

# A hot loop shows in every stretch; the effects of the last change, or of a busy machine, end after
# one or two, on a very busy machine after some more.
STRETCHES = ceil(stretched(10))
# This many passes over all AppWrappers in so many seconds are no hot loop.
SECONDS, PASSES = 3.0, 15
WRITES_SECONDS = 1.0


async def nothing_is_hot(words: ControllerWords) -> None:
    """Waits until a few seconds have few passes, over all AppWrappers."""
    await _cools_down(lambda: passes(words), SECONDS, PASSES)


async def nothing_is_written(*lives: Life) -> None:
    """Waits until a second has no change of these. Passes that write nothing are not seen."""
    await _cools_down(lambda: sum(len(each.events) for each in lives), WRITES_SECONDS, 0)


def passes(words: ControllerWords) -> float:
    """Returns the number of passes over all AppWrappers."""
    results = ("success", "requeue_after", "requeue", "error")
    labels = [{"controller": "appwrapper", "result": each} for each in results]
    return sum(words.sample("controller_runtime_reconcile_total", each) for each in labels)


async def _cools_down(count: Callable[[], float], seconds: float, at_most: int) -> None:
    seen: list[float] = []
    for _ in range(STRETCHES):
        before = count()
        await asyncio.sleep(seconds)
        seen.append(count() - before)
        if seen[-1] <= at_most:
            return
    raise AssertionError(f"in each {seconds:g} s: {seen}")
