"""Creates AppWrappers through the API server at a steady pace, whatever their results."""

import asyncio
import itertools
import time
from dataclasses import dataclass, field
from typing import Any

from shared.kube.client import KubeClient, KubeError
from tests.support.builders.admission import POD
from tests.support.builders.appwrappers import manifest


@dataclass(frozen=True, slots=True)
class Create:
    """One create. Times are seconds of time.monotonic(); `due` is its planned beginning."""

    due: float
    began: float
    ended: float
    error: str | None


@dataclass(slots=True)
class PacedCreates:
    """Sends `rate` creates a second in `namespace`, each at its own time, if the machine can.

    On a machine that is too busy for that rate a create waits until fewer than `at_once` are
    unanswered. Otherwise they pile up, and the API server does not answer the webhook within its
    two seconds.

    Each create is sent once. No controller runs the AppWrappers: they are managed by another one.
    """

    client: KubeClient
    namespace: str
    rate: float
    at_once: int = 10
    done: list[Create] = field(default_factory=list)
    _pending: set[asyncio.Task[None]] = field(default_factory=set)

    async def run(self, count: int, until: asyncio.Event | None = None) -> None:
        """Sends at least `count` creates, and more until `until` is set. Returns once all are
        answered.
        """
        start = time.monotonic()
        for index in itertools.count():
            if index >= count and (until is None or until.is_set()):
                break
            due = start + index / self.rate
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            while len(self._pending) >= self.at_once:
                await asyncio.wait(self._pending, return_when=asyncio.FIRST_COMPLETED)
            task = asyncio.create_task(self._create(f"paced-{index}", due))
            self._pending.add(task)
            task.add_done_callback(self._pending.discard)
        await asyncio.gather(*self._pending)

    @property
    def errors(self) -> list[Create]:
        """Returns the creates that were not admitted."""
        return [each for each in self.done if each.error is not None]

    @property
    def pace(self) -> float:
        """Returns the real rate, in creates a second."""
        began = sorted(each.began for each in self.done)
        return (len(began) - 1) / (began[-1] - began[0])

    @property
    def summary(self) -> str:
        """Describes the real load."""
        latest = max(each.began - each.due for each in self.done)
        slowest = max(each.ended - each.began for each in self.done)
        return (
            f"{len(self.done)} creates at {self.pace:.1f} a second instead of {self.rate:g}; the "
            f"latest began {latest:.2f} s late; the slowest answer took {slowest:.2f} s"
        )

    async def _create(self, name: str, due: float) -> None:
        began = time.monotonic()
        error: str | None = None
        try:
            await self.client.post(self._path, self._object(name), retry=False)
        except KubeError as failure:
            error = str(failure)
        self.done.append(Create(due, began, time.monotonic(), error))

    @property
    def _path(self) -> str:
        return f"/apis/workload.codeflare.dev/v1beta2/namespaces/{self.namespace}/appwrappers"

    def _object(self, name: str) -> dict[str, Any]:
        nobody = {"managedBy": "example.com/nobody"}
        return manifest(POD, spec=nobody, name=name, namespace=self.namespace)
