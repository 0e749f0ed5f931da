"""Runs independent steps at once; fails with the first failure itself, not with a group of them."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from localcluster.machine.errors import LocalClusterError


async def together(*steps: Coroutine[Any, Any, object]) -> None:
    """Runs all; when one fails the others are cancelled and awaited, and its error is raised."""
    try:
        async with asyncio.TaskGroup() as tasks:
            for each in steps:
                tasks.create_task(each)
    except BaseExceptionGroup as failures:
        raise _first(failures) from failures


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """Returns the failure to show: one that is written for people, else the first."""
    leaves: list[BaseException] = []
    pending: list[BaseException] = [failures]
    while pending:
        failure = pending.pop(0)
        if isinstance(failure, BaseExceptionGroup):
            pending.extend(failure.exceptions)
        else:
            leaves.append(failure)
    return next((each for each in leaves if isinstance(each, LocalClusterError)), leaves[0])
