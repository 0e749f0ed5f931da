"""Follow the list (`list --watch`) until Ctrl-C."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import Random
from typing import Any, Final, NoReturn

from cli.cluster.silent_informers import silent_informers
from cli.listing.gather import ListReader
from cli.listing.outline import (
    AppWrapperOutline,
    WorkloadOutline,
    appwrapper_outline,
    by_owner,
    workload_outline,
)
from cli.listing.rows import ListContext, ListedAppWrapper
from cli.listing.text import AppendedLines
from cli.listing.view import ListView, complain
from cli.terminal import CommandTerminal
from shared.api.objects import APPWRAPPERS
from shared.kube.client import Forbidden, KubeError, Unauthorized
from shared.kube.informer import Informer
from shared.process.sources import Sources, start_daemon_thread
from shared.waits.workload import WORKLOADS

# The longest time between two drawings: ages and coming attempts change without an event.
EVERY: Final = 10.0
# Several objects usually change together.
TOGETHER: Final = 0.3
_GONE: Final = "Deleted"
_Show = Callable[[list[ListedAppWrapper], datetime, bool], None]


async def follow(reader: ListReader, view: ListView, terminal: CommandTerminal) -> NoReturn:
    """Draw in place on a terminal; append the changed rows for a program."""
    await reader.appwrappers()  # the informer would repeat a refused request
    seen = _Seen(reader, view, await reader.gpu_resources(), await reader.workloads())
    complain(reader, view, terminal)
    if not (view.is_text and terminal.stdout.isatty()):
        await seen.follow(_Appended(view, terminal).show)
    from rich.live import Live
    from rich.text import Text

    console = terminal.console()
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:

        def show(rows: list[ListedAppWrapper], now: datetime, is_old: bool) -> None:
            note = "(old: the API server does not answer)\n" if is_old else ""
            drawn = Text(f"{view.text(rows, now, console.width)}{note}", no_wrap=True)
            live.update(drawn, refresh=True)

        await seen.follow(show)


@dataclass(slots=True)
class _Seen:
    """The watched objects. `first`: the Workloads until the watch has listed them."""

    reader: ListReader
    view: ListView
    gpu_resources: frozenset[str]
    first: Any
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    refused: list[KubeError] = field(default_factory=list)

    async def follow(self, show: _Show) -> NoReturn:
        """Show the rows after each change. Raises Forbidden, Unauthorized."""
        appwrappers = self._informer(APPWRAPPERS, appwrapper_outline, self.reader.scope.selector)
        workloads = self._informer(WORKLOADS, workload_outline)
        watched = [appwrappers] if self.reader.unread_workloads else [appwrappers, workloads]
        tasks = [asyncio.create_task(each.run()) for each in watched]
        tasks.append(asyncio.create_task(self._first(appwrappers)))
        clock = self.reader.cluster.clock
        with silent_informers():
            try:
                while True:
                    with suppress(TimeoutError):
                        async with clock.timeout(EVERY):
                            await self.changed.wait()
                            await clock.sleep(TOGETHER)
                    self.changed.clear()
                    if self.refused:
                        raise self.refused[0]
                    if appwrappers.synced:
                        await self._show(appwrappers, workloads, show)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _first(self, appwrappers: Informer[AppWrapperOutline]) -> None:
        """Report the first list: an empty one has no change."""
        await appwrappers.wait_synced()
        self.changed.set()

    async def _show(
        self,
        appwrappers: Informer[AppWrapperOutline],
        workloads: Informer[WorkloadOutline],
        show: _Show,
    ) -> None:
        outlines = [each for _, each in appwrappers.items()]
        known = by_owner(each for _, each in workloads.items()) if workloads.synced else self.first
        positions = await self.reader.positions(outlines, known)
        context = ListContext(
            workloads=known, positions=positions, gpu_resources=self.gpu_resources
        )
        now = self.reader.cluster.now()
        show(self.view.rows(outlines, context, now), now, appwrappers.failing)

    def _informer(self, resource: Any, transform: Any, selector: str = "") -> Informer[Any]:
        informer: Informer[Any] = Informer(
            self.reader.cluster.client,
            resource,
            transform=transform,
            sources=Sources(self.reader.cluster.clock, Random(), start_daemon_thread, ""),
            namespace=self.reader.scope.namespace,
            label_selector=selector,
            failed=self._failed,
        )
        informer.add_handler(lambda _: self.changed.set())
        return informer

    def _failed(self, error: KubeError) -> None:
        if isinstance(error, Forbidden | Unauthorized):
            self.refused.append(error)
            self.changed.set()


class _Appended:
    """Writes the rows that differ from those written before."""

    def __init__(self, view: ListView, terminal: CommandTerminal) -> None:
        self._view, self._terminal = view, terminal
        self._lines = AppendedLines(view.namespaces, view.output == "wide")
        self._shown: dict[tuple[str, str], ListedAppWrapper] = {}

    def show(self, rows: list[ListedAppWrapper], now: datetime, _is_old: bool) -> None:
        """Write new, changed and deleted AppWrappers."""
        current = {(row.namespace, row.name): row for row in rows}
        gone = [
            replace(row, status=_GONE, why="", position=None)
            for key, row in self._shown.items()
            if key not in current
        ]
        news = [row for key, row in current.items() if _news(row) != _news(self._shown.get(key))]
        self._shown = current
        if news or gone:
            self._write([*news, *gone], now)

    def _write(self, rows: Sequence[ListedAppWrapper], now: datetime) -> None:
        if self._view.is_text:
            self._terminal.write(self._lines.of(rows, now))
        for row in rows if not self._view.is_text else ():
            if self._view.output == "name":
                self._terminal.write(f"{self._view.name(row)}\n")
            else:
                self._terminal.write("---\n" if self._view.output == "yaml" else "")
                self._terminal.write_data(row, self._view.output)
        self._terminal.stdout.flush()


def _news(row: ListedAppWrapper | None) -> ListedAppWrapper | None:
    """Return the row without the time until the next attempt, which changes all the time."""
    if row is None or " begins " not in row.why:
        return row
    return replace(row, why=row.why.partition(" begins ")[0])
