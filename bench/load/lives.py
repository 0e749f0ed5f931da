"""Follows the objects of a batch through one watch, from their creation to their deletion."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from bench.errors import BenchError
from bench.load.batch_watch import BatchWatch
from bench.load.creations import create_all
from bench.load.deletions import delete_all
from shared.api.objects import JsonObject, Resource
from shared.kube.client import KubeClient, WatchEventType

End = Callable[[JsonObject], str | None]
"""Returns how an object ended: `Succeeded`, another text for a failure, None while it runs."""

SUCCEEDED = "Succeeded"


def appwrapper_end(appwrapper: JsonObject) -> str | None:
    """Reads the AppWrapper's phase."""
    phase = appwrapper.get("status", {}).get("phase")
    return phase if phase in (SUCCEEDED, "Failed") else None


def job_end(job: JsonObject) -> str | None:
    """Reads the Job's conditions."""
    for condition in job.get("status", {}).get("conditions", ()):
        if condition["status"] == "True" and condition["type"] in ("Complete", "Failed"):
            return SUCCEEDED if condition["type"] == "Complete" else "Failed"
    return None


class Lives:
    """Watches the objects of one batch: `async with Lives(…) as lives:`."""

    def __init__(self, client: KubeClient, resource: Resource, batch: str, end: End) -> None:
        self._client = client
        self._resource = resource
        self._watch = BatchWatch(client, resource, batch, self._take)
        self._end = end
        self._alive: set[str] = set()
        self._unfinished: set[str] = set()
        self._failure: str | None = None
        self._began = self._last_end = self._last_gone = 0.0
        self.events: Counter[str] = Counter()
        """Watch events per object, its deletion's not among them."""

    async def __aenter__(self) -> Self:
        """Starts the watch before any object is created, so that it misses no event."""
        await self._watch.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends the watch."""
        await self._watch.__aexit__(kind, error, trace)

    async def run(self, documents: Sequence[JsonObject]) -> float:
        """Creates all, 16 at once. Returns seconds from the first create to the last object's
        success.

        Raises BenchError if an object fails or no event arrives for three minutes.
        """
        self._unfinished |= self.expect(documents)
        self._began = time.perf_counter()
        await create_all(self._client, self._resource, documents)
        await self._until(lambda: not self._unfinished, "to end")
        return self._last_end - self._began

    def expect(self, documents: Sequence[JsonObject]) -> set[str]:
        """Counts these objects as existing, whether or not `run` creates them. Returns their
        names.
        """
        names = {each["metadata"]["name"] for each in documents}
        self._alive |= names
        return names

    async def settle(self) -> None:
        """Waits until half a second has passed without an event: late status writes count too."""
        await self._watch.settle()

    async def delete(self, names: Sequence[str]) -> float:
        """Deletes these, 16 at once, as kubectl does. Returns seconds until the last of them is
        gone.
        """
        began = time.perf_counter()
        await delete_all(self._client, self._resource, names)
        await self._until(lambda: self._alive.isdisjoint(names), "to be gone")
        return self._last_gone - began

    async def _until(self, done: Callable[[], bool], what: str) -> None:
        def waited_for() -> str:
            left = len(self._unfinished or self._alive)
            return f"{left} {self._resource.plural} were waited for {what}"

        await self._watch.until(lambda: done() or self._failure is not None, waited_for)
        if not done():
            raise BenchError(self._failure or "")

    def _take(self, kind: WatchEventType, changed: JsonObject) -> None:
        now = time.perf_counter()
        metadata = changed["metadata"]
        name = metadata["name"]
        if kind is WatchEventType.DELETED:
            self._alive.discard(name)
            self._last_gone = now
        elif "deletionTimestamp" not in metadata:
            self.events[name] += 1
            self._note_end(name, self._end(changed), now)

    def _note_end(self, name: str, end: str | None, now: float) -> None:
        if end == SUCCEEDED and name in self._unfinished:
            self._unfinished.discard(name)
            self._last_end = now
        elif end not in (None, SUCCEEDED):
            self._failure = f"{self._resource.kind} {name} ended as {end}."
