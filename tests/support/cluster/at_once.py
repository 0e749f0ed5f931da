"""Runs cases of one file at the same time, so that they wait for the same minute.

The cases share only the team of `lives`, and spend their time waiting.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from localcluster.access.running import RunningCluster
from tests.support.cluster.lives import Lives

Case = Callable[[Lives], Coroutine[Any, Any, None]]
UnderWay = Mapping[str, asyncio.Task[None]]


@asynccontextmanager
async def under_way(
    cluster: RunningCluster, *cases: Case, named: Mapping[str, Case] | None = None
) -> AsyncGenerator[UnderWay, None]:
    """Yields the running task of each case, by its name; a test awaits its own.

    `named`: cases by other names than their functions'. A case's objects are gone when its task
    ends. Tasks that no test awaited are cancelled.
    """

    async def one(case: Case) -> None:
        async with AsyncExitStack() as stack:
            await case(Lives(cluster, stack))

    all_cases = {**{case.__name__: case for case in cases}, **(named or {})}
    tasks = {name: asyncio.create_task(one(case)) for name, case in all_cases.items()}
    try:
        yield tasks
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
