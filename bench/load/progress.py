"""Records when the AppWrappers of one batch reach a phase, through one watch."""

import time
from collections import Counter
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Self

from bench.load.batch_watch import BatchWatch
from bench.load.creations import create_all
from bench.load.deletions import delete_all
from shared.api.conditions import is_true
from shared.api.names import CONDITION_PODS_READY
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import KubeClient, WatchEventType

# No phase: the AppWrapper is Running and all its pods run.
READY = "Running with all pods"
GONE = "gone"


class BatchProgress:
    """`async with Progress(client, batch) as progress:`. Moments are of `time.perf_counter`."""

    def __init__(self, client: KubeClient, batch: str) -> None:
        self._client = client
        self._watch = BatchWatch(client, APPWRAPPERS, batch, self._take)
        self._reached: dict[tuple[str, str], float] = {}
        self._named: dict[str, float] = {}
        self.events: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        """Starts the watch before anything is created."""
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

    async def start(self, documents: Sequence[JsonObject]) -> list[str]:
        """Creates all and waits until all their pods run. Returns their names. Raises
        BenchError.
        """
        names = await self.create(documents)
        await self._all(names, READY)
        await self._watch.settle()
        return names

    async def create(self, documents: Sequence[JsonObject]) -> list[str]:
        """Creates all. Returns their names."""
        await create_all(self._client, APPWRAPPERS, documents)
        return [each["metadata"]["name"] for each in documents]

    async def reached(self, name: str, phase: str) -> float:
        """Waits until this AppWrapper is in `phase`. Returns when an event first showed it.
        BenchError.
        """
        await self._all([name], phase)
        return self._reached[name, phase]

    async def named(self, name: str) -> float:
        """Waits until this AppWrapper has a root cause. Returns when an event first did.
        BenchError.
        """
        await self._watch.until(lambda: name in self._named, lambda: f"no root cause of {name}")
        return self._named[name]

    async def delete(self, names: Sequence[str]) -> float:
        """Deletes these, 16 at once, as kubectl does. Returns seconds until the last of them is
        gone.
        """
        began = time.perf_counter()
        await delete_all(self._client, APPWRAPPERS, names)
        await self._all(names, GONE)
        return max(self._reached[name, GONE] for name in names) - began

    async def _all(self, names: Collection[str], phase: str) -> None:
        def missing() -> list[str]:
            return [name for name in names if (name, phase) not in self._reached]

        def waited_for() -> str:
            return f"{len(missing())} AppWrappers were waited for to be {phase}"

        await self._watch.until(lambda: not missing(), waited_for)

    def _take(self, kind: WatchEventType, appwrapper: JsonObject) -> None:
        now = time.perf_counter()
        name = appwrapper["metadata"]["name"]
        if kind is WatchEventType.DELETED:
            self._reached.setdefault((name, GONE), now)
            return
        self.events[name] += 1
        status = appwrapper.get("status") or {}
        phase = status.get("phase") or ""
        self._reached.setdefault((name, phase), now)
        if status.get("rootCause"):
            self._named.setdefault(name, now)
        if phase == "Running" and is_true(status.get("conditions") or (), CONDITION_PODS_READY):
            self._reached.setdefault((name, READY), now)
