"""Looks whether pass follows pass without end."""

import asyncio

from tests.support.observer.controller_words import ControllerWords

# Passes over all AppWrappers in so many seconds that are no hot loop; how often it is looked.
SECONDS, PASSES, STRETCHES = 3, 15, 4


async def nothing_is_hot(words: ControllerWords) -> None:
    """A few seconds with few passes, also over what is beside it.

    A loop is hot in every stretch; what the last change, or a busy machine, brought about is over
    after one or two.
    """

    def passes() -> float:
        results = ("success", "requeue_after", "requeue", "error")
        labels = [{"controller": "appwrapper", "result": each} for each in results]
        return sum(words.sample("controller_runtime_reconcile_total", each) for each in labels)

    seen: list[float] = []
    for _ in range(STRETCHES):
        before = passes()
        await asyncio.sleep(SECONDS)
        seen.append(passes() - before)
        if seen[-1] <= PASSES:
            return
    raise AssertionError(f"passes in each {SECONDS} s: {seen}")
