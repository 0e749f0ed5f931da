"""Follows the objects of one batch through one watch, from their creation to their deletion."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import aclosing, suppress
from typing import Self

from bench.errors import BenchError
from bench.load.requests import create_all, delete_all
from bench.objects import BATCH_LABEL, NAMESPACE
from localcluster.machine.slowness import stretched
from shared.api.conditions import is_true
from shared.api.names import CONDITION_PODS_READY
from shared.api.objects import APPWRAPPERS, JsonObject, Resource
from shared.kinds.job import JOBS
from shared.kube.client import KubeClient, WatchEventType

_PATIENCE = stretched(180.0)
_QUIET_SECONDS = 0.5

# States of an object: its phase, or one of these.
SUCCEEDED, FAILED, GONE = "Succeeded", "Failed", "gone"
READY = "Running with all pods"
EXPLAINED = "explained by a root cause"


def _states_of_appwrapper(appwrapper: JsonObject) -> Iterator[str]:
    status = appwrapper.get("status") or {}
    phase = status.get("phase") or ""
    yield phase
    if status.get("rootCause"):
        yield EXPLAINED
    if phase == "Running" and is_true(status.get("conditions") or (), CONDITION_PODS_READY):
        yield READY


def _states_of_job(job: JsonObject) -> Iterator[str]:
    for condition in job.get("status", {}).get("conditions", ()):
        if condition["status"] == "True" and condition["type"] in ("Complete", "Failed"):
            yield SUCCEEDED if condition["type"] == "Complete" else FAILED


_STATES: dict[Resource, Callable[[JsonObject], Iterator[str]]] = {
    APPWRAPPERS: _states_of_appwrapper,
    JOBS: _states_of_job,
}


class Batch:
    """`async with Batch(client, name) as batch:`. Moments are of `time.perf_counter`."""

    def __init__(self, client: KubeClient, name: str, resource: Resource = APPWRAPPERS) -> None:
        self._client = client
        self._resource = resource
        self._selector = f"{BATCH_LABEL}={name}"
        self._changed = asyncio.Event()
        self._reached: dict[tuple[str, str], float] = {}
        self.events: Counter[str] = Counter()
        """Watch events per object, its deletion's not among them."""

    async def __aenter__(self) -> Self:
        """Starts the watch; it misses no object that is created from now on."""
        version = await self._list_version()
        self._watch = asyncio.create_task(self._follow(version))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Ends the watch."""
        self._watch.cancel()
        with suppress(asyncio.CancelledError):
            await self._watch

    async def create(self, documents: Sequence[JsonObject]) -> list[str]:
        """Creates all, 16 at once. Returns their names."""
        await create_all(self._client, self._resource, documents)
        return [each["metadata"]["name"] for each in documents]

    async def start(self, documents: Sequence[JsonObject]) -> list[str]:
        """Creates all and waits until all their pods run. Returns their names."""
        names = await self.create(documents)
        await self.reached(names, READY)
        await self.settle()
        return names

    async def run(self, documents: Sequence[JsonObject]) -> float:
        """Creates all. Returns seconds from the first create to the last object's success."""
        began = time.perf_counter()
        names = await self.create(documents)
        return await self.reached(names, SUCCEEDED) - began

    async def delete(self, names: Sequence[str]) -> float:
        """Deletes these, 16 at once, as kubectl does. Returns seconds until the last is gone."""
        began = time.perf_counter()
        await delete_all(self._client, self._resource, names)
        return await self.reached(names, GONE) - began

    async def reached(self, names: Collection[str], state: str) -> float:
        """Waits until an event has shown each of these in `state`. Returns when the last one was.

        Raises BenchError if no event arrives for three minutes, or if an object fails whose success
        is waited for. Errors of the watch are raised here too.
        """
        missing = set(names)
        while missing := {each for each in missing if (each, state) not in self._reached}:
            failed = [each for each in missing if (each, FAILED) in self._reached]
            if failed and state == SUCCEEDED:
                raise BenchError(f"{self._resource.kind} {failed[0]} ended as Failed.")
            if self._watch.done():
                self._watch.result()
            try:
                async with asyncio.timeout(_PATIENCE):
                    await self._next_change()
            except TimeoutError:
                raise BenchError(
                    f"{len(missing)} {self._resource.plural} were waited for to be {state}, and"
                    f" nothing happened for {_PATIENCE:.0f} s."
                ) from None
        return max(self._reached[name, state] for name in names)

    def moments(self, state: str) -> list[float]:
        """Returns when each object that has been in `state` first was, the earliest first."""
        return sorted(at for (_, found), at in self._reached.items() if found == state)

    async def settle(self) -> None:
        """Waits until half a second has passed without an event: late status writes count too."""
        with suppress(TimeoutError):
            while True:
                async with asyncio.timeout(_QUIET_SECONDS):
                    await self._next_change()

    async def _next_change(self) -> None:
        """Waits for the next event, or for the watch to end, which only an error causes."""
        change = asyncio.create_task(self._changed.wait())
        try:
            await asyncio.wait((change, self._watch), return_when=asyncio.FIRST_COMPLETED)
        finally:
            change.cancel()

    async def _list_version(self) -> str:
        pages = self._client.pages(
            self._resource, NAMESPACE, label_selector=self._selector, metadata_only=True
        )
        async with aclosing(pages):
            async for page in pages:
                return page.resource_version
        raise AssertionError("a list has at least one page")

    async def _follow(self, version: str) -> None:
        while True:  # the server ends each watch after some minutes
            stream = self._client.watch(
                self._resource,
                NAMESPACE,
                resource_version=version,
                label_selector=self._selector,
            )
            async with aclosing(stream):
                async for event in stream:
                    version = event.object["metadata"]["resourceVersion"]
                    if event.type is not WatchEventType.BOOKMARK:
                        self._take(event.type, event.object)
                        self._changed.set()
                        self._changed = asyncio.Event()  # others may begin to wait for the next one

    def _take(self, kind: WatchEventType, changed: JsonObject) -> None:
        now = time.perf_counter()
        metadata = changed["metadata"]
        name = metadata["name"]
        if kind is WatchEventType.DELETED:
            self._reached.setdefault((name, GONE), now)
        elif "deletionTimestamp" not in metadata:
            self.events[name] += 1
            for state in _STATES[self._resource](changed):
                self._reached.setdefault((name, state), now)
