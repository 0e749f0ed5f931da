import time

from bench.load.progress import BatchProgress
from shared.kube.client import WatchEventType
from tests.support.fakes.watched_appwrappers import READY, WatchedAppWrappers, appwrappers


async def test_they_start_once_all_pods_run() -> None:
    cluster = WatchedAppWrappers(("Resuming", "Running", READY))
    async with BatchProgress(cluster, "a-batch") as progress:
        assert await progress.start(appwrappers("a", "b")) == ["a", "b"]
        assert progress.events == {"a": 4, "b": 4}
    assert cluster.selectors == ["bench.localcluster.dev/batch=a-batch"] * 2


async def test_a_phase_is_reached_with_its_first_event() -> None:
    cluster = WatchedAppWrappers(("Running", READY))
    async with BatchProgress(cluster, "a-batch") as progress:
        await progress.start(appwrappers("a"))
        before = time.perf_counter()
        cluster.put(WatchEventType.MODIFIED, "a", "Resetting")
        moment = await progress.reached("a", "Resetting")
        assert before < moment < time.perf_counter()
        cluster.put(WatchEventType.MODIFIED, "a", "Resetting")
        cluster.put(WatchEventType.MODIFIED, "a", "Failed")
        await progress.reached("a", "Failed")
        assert await progress.reached("a", "Resetting") == moment


async def test_a_deletion_takes_until_the_last_is_gone() -> None:
    cluster = WatchedAppWrappers((READY,))
    async with BatchProgress(cluster, "a-batch") as progress:
        names = await progress.start(appwrappers("a", "b"))
        began = time.perf_counter()
        assert 0 < await progress.delete(names) <= time.perf_counter() - began
