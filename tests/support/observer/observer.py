"""Watches a whole cluster beside its tests, and reports the promises that were broken meanwhile.

It is independent of the product: it imports nothing of the controller and nothing of the
controller's client. It runs in its own thread, so that no test's event loop delays it.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import aiohttp

from localcluster.machine.slowness import stretched
from tests.support.observer.change import Change
from tests.support.observer.judge import APPWRAPPERS, PODS, UID_LABEL, Judge, Violation
from tests.support.observer.kubeconfig import read_access
from tests.support.observer.watching import Refused, Watch, Watched

_GROUP: Final = "workload.codeflare.dev"
_ORDERED: Final = (
    Watched(APPWRAPPERS, f"/apis/{_GROUP}/v1beta2/{APPWRAPPERS}"),
    Watched(PODS, "/api/v1/pods", UID_LABEL),
)
_IN_ORDER: Final = frozenset(each.plural for each in _ORDERED)
# The Kinds that tests wrap. Kinds that the cluster does not serve are left out.
_COMPONENTS: Final = tuple(
    Watched(path.rsplit("/", 1)[1], path, UID_LABEL, metadata_only=True)
    for path in (
        "/api/v1/services",
        "/api/v1/secrets",
        "/api/v1/configmaps",
        "/apis/apps/v1/deployments",
        "/apis/apps/v1/statefulsets",
        "/apis/batch/v1/jobs",
        "/apis/kubeflow.org/v1/pytorchjobs",
        "/apis/kubeflow.org/v2beta1/mpijobs",
        "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets",
        "/apis/jobset.x-k8s.io/v1alpha2/jobsets",
        "/apis/ray.io/v1/rayclusters",
        "/apis/ray.io/v1/rayjobs",
    )
)
_SECONDS: Final = stretched(300.0)

T = TypeVar("T")


class Observer:
    """`with Observer(kubeconfig) as observer:`; methods may be called from any thread."""

    def __init__(self, kubeconfig: Path) -> None:
        self._access = read_access(kubeconfig)
        self._judge = Judge()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="observer", daemon=True)
        self._unjudged: list[Change] = []
        self._found: list[Violation] = []
        self._judged = 0
        self._watches: list[Watch] = []
        self._tasks: list[asyncio.Task[None]] = []

    def __enter__(self) -> Self:
        self._thread.start()
        self._call(self._begin())
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def gaps(self) -> list[str]:
        """Returns the times for which the API server could not report all changes."""
        return [gap for watch in self._watches for gap in watch.gaps]

    def violations(self, namespaces: Iterable[str] | None = None) -> list[Violation]:
        """Returns the promises broken since the last call, up to this moment. Raises TimeoutError.

        With `namespaces` only those of these namespaces; another call returns the others.
        """
        wanted = None if namespaces is None else frozenset(namespaces)
        return self._take(lambda each: wanted is None or each.namespace in wanted)

    def report(self) -> str:
        """Returns them as a text with each story in full; empty without any."""
        return "\n".join(map(str, self.violations()))

    def violations_of(self, name: str, namespace: str) -> list[Violation]:
        """Returns those of AppWrappers of one name; the next call returns the others."""
        return self._take(lambda each: (each.namespace, each.name) == (namespace, name))

    def _take(self, wanted: Callable[[Violation], bool]) -> list[Violation]:
        self._call(self._settle())
        taken = [each for each in self._found if wanted(each)]
        self._found = [each for each in self._found if not wanted(each)]
        return taken

    def changes_of(self, namespace: str, name: str) -> int:
        """Returns how many watch events the AppWrapper has caused until now."""
        self._call(self._settle())
        return self._judge.changes_of(namespace, name)

    def story_of(self, namespace: str, name: str) -> str:
        """Returns its history until now, one line a change."""
        self._call(self._settle())
        return "\n".join(self._judge.story_of(namespace, name))

    def conflicts(self) -> int:
        """Returns how often the API server, since its start, rejected a stale write to
        AppWrappers.
        """
        return self._call(self._conflicts())

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_SECONDS)

    async def _begin(self) -> None:
        self._http = aiohttp.ClientSession(
            self._access.server,
            connector=aiohttp.TCPConnector(ssl=self._access.trust),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=60.0),
        )
        for watched in (*_ORDERED, *_COMPONENTS):
            watch = Watch(self._http, watched, self._unjudged.append)
            try:
                await watch.begin()
            except Refused:
                if watched in _ORDERED:
                    raise
                continue
            self._watches.append(watch)
            self._tasks.append(asyncio.create_task(watch.run()))

    async def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._http.close()
        await asyncio.sleep(0.25)  # aiohttp only begins to close TLS connections

    async def _conflicts(self) -> int:
        async with self._http.get("/metrics") as answer:
            text = await answer.text()
        return sum(
            int(float(line.rsplit(" ", 1)[1]))
            for line in text.splitlines()
            if line.startswith("apiserver_request_total{")
            and 'code="409"' in line
            and f'resource="{APPWRAPPERS}"' in line
        )

    async def _settle(self) -> None:
        """Processes all changes up to a moment after the call."""
        for task in self._tasks:
            if task.done():
                task.result()  # a defect of the observer must not look like silence
        ordered = self._watches[: len(_ORDERED)]
        until = min(await asyncio.gather(*(self._fence(each) for each in ordered)))
        due = [
            each
            for each in self._unjudged
            if each.revision <= until or each.resource not in _IN_ORDER
        ]
        self._unjudged[:] = [
            each for each in self._unjudged if each.revision > until and each.resource in _IN_ORDER
        ]
        for change in sorted(due, key=lambda each: each.revision):
            self._found += self._judge.see(self._in_turn(change))
        self._judged = max(self._judged, until)

    async def _fence(self, watch: Watch) -> int:
        """Waits for the watch; tests may restart the API server, or keep it busy."""
        while True:
            try:
                return await watch.fence()
            except (aiohttp.ClientError, OSError, TimeoutError, Refused):
                await asyncio.sleep(0.2)

    def _in_turn(self, change: Change) -> Change:
        """Gives a change after a gap a new revision: a list reports changes too late."""
        if change.revision > self._judged or change.resource not in _IN_ORDER or not self.gaps:
            return change
        return replace(change, revision=self._judged)


@contextmanager
def observed(kubeconfig: Path) -> Iterator[Observer]:
    """Observes a cluster that a test starts itself; fails in the end if a promise was broken."""
    with Observer(kubeconfig) as watching:
        yield watching
        assert not (found := watching.report()), found
