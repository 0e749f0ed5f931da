"""Runs independent steps at once; fails with the first failure itself, not with a group of them."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from localcluster.machine.errors import LocalClusterError


async def together(*steps: Coroutine[Any, Any, object]) -> None:
    """Runs all; when one fails the others are cancelled and awaited, and its error is raised.

    If several fail, one that is written for people is preferred.
    """
    try:
        async with asyncio.TaskGroup() as tasks:
            for each in steps:
                tasks.create_task(each)
    except BaseExceptionGroup as failures:
        for_people = [each for each in failures.exceptions if isinstance(each, LocalClusterError)]
        raise (for_people or failures.exceptions)[0] from failures
