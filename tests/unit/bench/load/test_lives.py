from collections.abc import AsyncGenerator
from typing import Any

import pytest

from bench.errors import BenchError
from bench.load.lives import Lives, appwrapper_end, job_end
from shared.api.objects import APPWRAPPERS, JsonObject, Resource
from shared.kube.client import Unreachable, WatchEvent, WatchEventType
from tests.support.fakes.watched_appwrappers import (
    BOOKMARK,
    END_OF_WATCH,
    WatchedAppWrappers,
    appwrappers,
)


@pytest.mark.parametrize(
    ("appwrapper", "end"),
    [
        ({}, None),
        ({"status": {}}, None),
        ({"status": {"phase": "Running"}}, None),
        ({"status": {"phase": "Succeeded"}}, "Succeeded"),
        ({"status": {"phase": "Failed"}}, "Failed"),
    ],
)
def test_appwrapper_end(appwrapper: JsonObject, end: str | None) -> None:
    assert appwrapper_end(appwrapper) == end


@pytest.mark.parametrize(
    ("conditions", "end"),
    [
        ([], None),
        ([("Suspended", "True")], None),
        ([("SuccessCriteriaMet", "True")], None),
        ([("Complete", "False")], None),
        ([("SuccessCriteriaMet", "True"), ("Complete", "True")], "Succeeded"),
        ([("Failed", "True")], "Failed"),
    ],
)
def test_job_end(conditions: list[tuple[str, str]], end: str | None) -> None:
    status = {"conditions": [{"type": kind, "status": value} for kind, value in conditions]}
    assert job_end({"status": status}) == end


def lives(cluster: WatchedAppWrappers) -> Lives:
    return Lives(cluster, APPWRAPPERS, "a-batch", appwrapper_end)


async def test_a_batch_lives_until_the_last_success() -> None:
    cluster = WatchedAppWrappers(("Running", "Succeeded", "Succeeded"))
    async with lives(cluster) as watched:
        assert await watched.run(appwrappers("a", "b")) > 0
        assert await watched.delete(["a", "b"]) > 0
        # Those of the deletion are not among them.
        assert watched.events == {"a": 4, "b": 4}
    assert cluster.selectors == ["bench.localcluster.dev/batch=a-batch"] * 2
    assert cluster.versions == ["7"]


async def test_one_failure_ends_it() -> None:
    async with lives(WatchedAppWrappers(("Running", "Failed"))) as watched:
        with pytest.raises(BenchError, match=r"^AppWrapper a ended as Failed\.$"):
            await watched.run(appwrappers("a"))


async def test_a_watch_that_the_server_ends_goes_on_where_it_was() -> None:
    cluster = WatchedAppWrappers(("Running", END_OF_WATCH, BOOKMARK, "Succeeded"))
    async with lives(cluster) as watched:
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
        async with lives(Broken(())) as watched:
            await watched.run(appwrappers("a"))
