"""Wait until deleted AppWrappers are gone (`cancel --wait`)."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from cli.cluster.connection import Cluster
from cli.cluster.watched import WatchedObjects
from cli.listing.why import blocked
from cli.tasks import next_change
from shared.api.appwrapper import AppWrapper
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.waits.words import few

# A usual deletion needs no report.
QUIET: Final = 2.0


@dataclass(frozen=True, slots=True)
class _Remaining:
    uid: str
    name: str
    blocked: str


def _remaining(raw: JsonObject) -> _Remaining:
    appwrapper = AppWrapper(raw)
    return _Remaining(appwrapper.uid, appwrapper.name, blocked(appwrapper))


async def until_gone(
    cluster: Cluster, uids: Collection[str], report: Callable[[str], None]
) -> None:
    """Return when no AppWrapper with these UIDs exists. Raises Forbidden, Unauthorized.

    `report` receives lines about those that remain: after QUIET seconds, then each change.
    """
    watched = WatchedObjects(cluster)
    appwrappers = watched.add(APPWRAPPERS, _remaining, cluster.namespace)
    began, reported = cluster.clock.monotonic(), ""
    async with watched.running():
        while True:
            await next_change(watched.changed, cluster.clock, QUIET)
            watched.raise_refusal()
            if not appwrappers.synced:
                continue
            left = [each for _, each in appwrappers.items() if each.uid in uids]
            if not left:
                return
            text = _text(left)
            if text != reported and cluster.clock.monotonic() - began >= QUIET:
                report(text)
                reported = text


def _text(left: list[_Remaining]) -> str:
    verb = "is" if len(left) == 1 else "are"
    lines = [f"waiting until {few(each.name for each in left)} {verb} gone"]
    lines += [f"{each.name} is blocked: {each.blocked}" for each in left if each.blocked]
    return "\n".join(lines)
