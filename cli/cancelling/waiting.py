"""Wait until deleted AppWrappers are gone (`cancel --wait`)."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Final

from cli.cluster.connection import Cluster
from cli.cluster.silent_informers import silent_informers
from cli.listing.why import blocked
from shared.api.appwrapper import AppWrapper
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import Forbidden, KubeError, Unauthorized
from shared.kube.informer import Informer
from shared.process.sources import Sources, start_daemon_thread
from shared.waits.words import few

# A usual deletion needs no report.
QUIET: Final = 2.0
_EVERY: Final = 2.0
_Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class _Remaining:
    uid: str
    name: str
    blocked: str


def _remaining(raw: JsonObject) -> _Remaining:
    appwrapper = AppWrapper(raw)
    return _Remaining(appwrapper.uid, appwrapper.name, blocked(appwrapper))


async def until_gone(cluster: Cluster, names: Mapping[str, str], report: _Report) -> None:
    """Return when no AppWrapper with these UIDs exists. Raises Forbidden, Unauthorized.

    `report` receives lines about those that remain: after QUIET seconds, then each change.
    """
    refused: list[KubeError] = []
    changed = asyncio.Event()

    def failed(error: KubeError) -> None:
        if isinstance(error, Forbidden | Unauthorized):
            refused.append(error)
            changed.set()

    informer: Informer[_Remaining] = Informer(
        cluster.client,
        APPWRAPPERS,
        transform=_remaining,
        sources=Sources(cluster.clock, Random(), start_daemon_thread, ""),
        namespace=cluster.namespace,
        failed=failed,
    )
    informer.add_handler(lambda _: changed.set())
    tasks = [asyncio.create_task(informer.run()), asyncio.create_task(_first(informer, changed))]
    try:
        with silent_informers():
            await _until_gone(cluster, informer, names, report, changed, refused)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _first(informer: Informer[_Remaining], changed: asyncio.Event) -> None:
    """Report the first list: an empty one has no change."""
    await informer.wait_synced()
    changed.set()


async def _until_gone(
    cluster: Cluster,
    informer: Informer[_Remaining],
    names: Mapping[str, str],
    report: _Report,
    changed: asyncio.Event,
    refused: list[KubeError],
) -> None:
    began, reported = cluster.clock.monotonic(), ""
    while True:
        if refused:
            raise refused[0]
        left = [each for _, each in informer.items() if each.uid in names]
        if informer.synced and not left:
            return
        if cluster.clock.monotonic() - began >= QUIET and informer.synced:
            text = _text(left)
            if text != reported:
                report(text)
                reported = text
        changed.clear()
        with suppress(TimeoutError):
            async with cluster.clock.timeout(_EVERY):
                await changed.wait()


def _text(left: list[_Remaining]) -> str:
    lines = [f"waiting until {few(each.name for each in left)} {_verb(left)} gone"]
    lines += [f"{each.name} is blocked: {each.blocked}" for each in left if each.blocked]
    return "\n".join(lines)


def _verb(left: list[_Remaining]) -> str:
    return "is" if len(left) == 1 else "are"
