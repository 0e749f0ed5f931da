"""Creates AppWrappers through the API server, whatever their results."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from shared.kube.client import KubeClient, KubeError
from tests.support.builders.admission import POD
from tests.support.builders.appwrappers import manifest
from tests.support.cluster.kubectl import RIGHTS_UNKNOWN, TRIES
from tests.support.cluster.senders import send_steadily


@dataclass(frozen=True, slots=True)
class Create:
    """One create. Times are seconds of time.monotonic()."""

    began: float
    ended: float
    error: str | None


@dataclass(slots=True)
class PacedCreates:
    """Sends at most `rate` creates a second in `namespace`, fewer where answers are slow.

    Each create is sent once, and again only if its user's rights were not known in time. No
    controller runs the AppWrappers: they are managed by another one.
    """

    client: KubeClient
    namespace: str
    rate: float
    senders: int = 10
    done: list[Create] = field(default_factory=list)

    async def run(self, count: int, until: asyncio.Event) -> None:
        """Sends at least `count` creates, and more until `until` is set. Returns once all are
        answered.
        """
        await send_steadily(
            self._create,
            rate=self.rate,
            senders=self.senders,
            goes_on=lambda index: index < count or not until.is_set(),
        )

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
        slowest = max(each.ended - each.began for each in self.done)
        return (
            f"{len(self.done)} creates at {self.pace:.1f} a second, at most {self.rate:g}; the"
            f" slowest answer took {slowest:.2f} s"
        )

    async def _create(self, index: int) -> None:
        began = time.monotonic()
        error: str | None = None
        for _ in range(TRIES):
            error = None
            try:
                await self.client.post(self._path, self._object(f"paced-{index}"), retry=False)
            except KubeError as failure:
                error = str(failure)
            if error is None or not RIGHTS_UNKNOWN.search(error):
                break
        self.done.append(Create(began, time.monotonic(), error))

    @property
    def _path(self) -> str:
        return f"/apis/workload.codeflare.dev/v1beta2/namespaces/{self.namespace}/appwrappers"

    def _object(self, name: str) -> dict[str, Any]:
        nobody = {"managedBy": "example.com/nobody"}
        return manifest(POD, spec=nobody, name=name, namespace=self.namespace)
