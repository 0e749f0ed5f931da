"""Cases of one file that wait for the same minute instead of each for its own.

For cases that share nothing but the team of `lives`, and spend their time waiting.
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
async def under_way(cluster: RunningCluster, *cases: Case) -> AsyncGenerator[UnderWay, None]:
    """Each case's task by its name, all begun; a test awaits its own.

    What a case has begun is gone when its task ends. Those that nobody awaited are cancelled.
    """

    async def one(case: Case) -> None:
        async with AsyncExitStack() as stack:
            await case(Lives(cluster, stack))

    tasks = {case.__name__: asyncio.create_task(one(case)) for case in cases}
    try:
        yield tasks
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
