import asyncio
import time
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from bench.errors import BenchError
from bench.load.batch import Batch
from shared.api.objects import Resource
from shared.kinds.job import JOBS
from shared.kube.client import Unreachable, WatchEvent, WatchEventType
from tests.support.fakes.watched_appwrappers import (
    BOOKMARK,
    END_OF_WATCH,
    READY,
    WatchedAppWrappers,
    appwrappers,
)


async def test_they_start_once_all_pods_run() -> None:
    cluster = WatchedAppWrappers(("Resuming", "Running", READY))
    async with Batch(cluster, "a-batch") as progress:
        assert await progress.start(appwrappers("a", "b")) == ["a", "b"]
        assert progress.events == {"a": 4, "b": 4}
    assert cluster.selectors == ["bench.localcluster.dev/batch=a-batch"] * 2


async def test_a_phase_is_reached_with_its_first_event() -> None:
    cluster = WatchedAppWrappers(("Running", READY))
    async with Batch(cluster, "a-batch") as progress:
        await progress.start(appwrappers("a"))
        before = time.perf_counter()
        cluster.put(WatchEventType.MODIFIED, "a", "Resetting")
        moment = await progress.reached(["a"], "Resetting")
        assert before < moment < time.perf_counter()
        cluster.put(WatchEventType.MODIFIED, "a", "Resetting")
        cluster.put(WatchEventType.MODIFIED, "a", "Failed")
        await progress.reached(["a"], "Failed")
        assert await progress.reached(["a"], "Resetting") == moment


async def test_a_deletion_takes_until_the_last_is_gone() -> None:
    cluster = WatchedAppWrappers((READY,))
    async with Batch(cluster, "a-batch") as progress:
        names = await progress.start(appwrappers("a", "b"))
        began = time.perf_counter()
        assert 0 < await progress.delete(names) <= time.perf_counter() - began


async def test_a_batch_lives_until_the_last_success() -> None:
    cluster = WatchedAppWrappers(("Running", "Succeeded", "Succeeded"))
    async with Batch(cluster, "a-batch") as watched:
        assert await watched.run(appwrappers("a", "b")) > 0
        assert await watched.delete(["a", "b"]) > 0
        # Those of the deletion are not among them.
        assert watched.events == {"a": 4, "b": 4}
    assert cluster.selectors == ["bench.localcluster.dev/batch=a-batch"] * 2
    assert cluster.versions == ["7"]


async def test_one_failure_ends_it() -> None:
    async with Batch(WatchedAppWrappers(("Running", "Failed")), "a-batch") as watched:
        with pytest.raises(BenchError, match=r"^AppWrapper a ended as Failed\.$"):
            await watched.run(appwrappers("a"))


async def test_a_watch_that_the_server_ends_goes_on_where_it_was() -> None:
    cluster = WatchedAppWrappers(("Running", END_OF_WATCH, BOOKMARK, "Succeeded"))
    async with Batch(cluster, "a-batch") as watched:
        await watched.run(appwrappers("a"))
    assert cluster.versions == ["7", "9"]
    assert watched.events == {"a": 3}


async def test_an_error_of_the_watch_is_not_waited_out() -> None:
    class Broken(WatchedAppWrappers):
        async def watch(
            self, resource: Resource, namespace: str | None = None, **options: Any
        ) -> AsyncGenerator[WatchEvent, None]:
            if self.selectors:
                raise Unreachable("gone")
            yield WatchEvent(WatchEventType.BOOKMARK, {})

    with pytest.raises(Unreachable, match=r"^gone$"):
        async with Batch(Broken(()), "a-batch") as watched:
            await watched.run(appwrappers("a"))


class Jobs(WatchedAppWrappers):
    """One Job, whose conditions change in this order."""

    def __init__(self, *conditions: tuple[str, str]) -> None:
        super().__init__(())
        self._conditions = conditions

    async def watch(
        self, resource: Resource, namespace: str | None = None, **options: Any
    ) -> AsyncGenerator[WatchEvent, None]:
        assert resource == JOBS
        metadata = {"name": "a", "resourceVersion": "8"}
        for kind, value in self._conditions:
            status = {"conditions": [{"type": kind, "status": value}]}
            yield WatchEvent(WatchEventType.MODIFIED, {"metadata": metadata, "status": status})
        await asyncio.Event().wait()


async def test_a_job_succeeds_by_its_condition() -> None:
    cluster = Jobs(("SuccessCriteriaMet", "True"), ("Complete", "True"))
    async with Batch(cluster, "a-batch", JOBS) as jobs:
        assert await jobs.reached(["a"], "Succeeded") > 0


async def test_a_job_fails_by_its_condition() -> None:
    async with Batch(Jobs(("Complete", "False"), ("Failed", "True")), "a-batch", JOBS) as jobs:
        with pytest.raises(BenchError, match=r"^Job a ended as Failed\.$"):
            await jobs.reached(["a"], "Succeeded")
