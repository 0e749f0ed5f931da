"""An informer over a scripted client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from shared.api.objects import PODS
from shared.kube.client import ListPage
from shared.kube.informer import Informer
from shared.kube.object_cache import Change
from tests.support.fakes.fake_clock import FakeClock, fake_sources, settle
from tests.support.fakes.fake_kube import FakeKube, WatchFeed, kube_object


def pod(name: str, version: int, phase: str = "Running", **more: Any) -> dict[str, Any]:
    return kube_object(name, version, phase=phase, **more)


def key(name: str) -> tuple[str, str]:
    return ("team1", name)


class Watching:
    """An informer over a scripted client; its changes, its clock and its watches."""

    def __init__(
        self,
        lists: list[list[ListPage] | BaseException],
        watches: list[WatchFeed | BaseException],
        **options: Any,
    ) -> None:
        self.client = FakeKube(lists=lists, watches=watches)
        self.clock = FakeClock()
        self.changes: list[Change[str]] = []
        self.informer: Informer[str] = Informer(
            self.client,
            PODS,
            transform=lambda raw: raw["phase"],
            sources=fake_sources(self.clock),
            **options,
        )
        self.informer.add_handler(self.changes.append)

    def has_synced(self) -> bool:
        """True if it has synced by now; mypy would assume that an attribute has not changed."""
        return self.informer.synced

    @property
    def watched_from(self) -> list[str]:
        return [call.kwargs["resource_version"] for call in self.client.called("watch")]

    @property
    def lists(self) -> int:
        return len(self.client.called("pages")) - self.comparisons

    @property
    def comparisons(self) -> int:
        """Returns how often it only requested the server's version."""
        sizes = [call.kwargs.get("page_size") for call in self.client.called("pages")]
        return sizes.count(1)

    def known(self) -> dict[str, str]:
        return {name: phase for (_, name), phase in self.informer.items()}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.informer.run())
        await settle()
        try:
            yield
            if task.done():
                await task
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def assert_delays(slept: list[float], longest: list[float]) -> None:
    """Asserts that each delay is between half of the longest and the longest."""
    assert len(slept) == len(longest)
    for delay, limit in zip(slept, longest, strict=True):
        assert limit / 2 <= delay <= limit
