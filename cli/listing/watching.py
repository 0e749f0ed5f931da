"""Follow the list (`list --watch`) until Ctrl-C."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NoReturn

from cli.cluster.watched import WatchedObjects
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
from cli.tasks import next_change
from cli.terminal import CommandTerminal
from shared.api.objects import APPWRAPPERS
from shared.kube.informer import Informer
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
    first: Mapping[str, WorkloadOutline]

    async def follow(self, show: _Show) -> NoReturn:
        """Show the rows after each change. Raises Forbidden, Unauthorized."""
        scope, clock = self.reader.scope, self.reader.cluster.clock
        watched = WatchedObjects(self.reader.cluster)
        appwrappers = watched.add(
            APPWRAPPERS, appwrapper_outline, scope.namespace, label_selector=scope.selector
        )
        workloads = None
        if not self.reader.unread_workloads:
            workloads = watched.add(WORKLOADS, workload_outline, scope.namespace)
        async with watched.running():
            while True:
                await next_change(watched.changed, clock, EVERY)
                await clock.sleep(TOGETHER)
                watched.changed.clear()
                watched.raise_refusal()
                if appwrappers.synced:
                    await self._show(appwrappers, workloads, show)

    async def _show(
        self,
        appwrappers: Informer[AppWrapperOutline],
        workloads: Informer[WorkloadOutline] | None,
        show: _Show,
    ) -> None:
        outlines = [each for _, each in appwrappers.items()]
        known = self.first
        if workloads is not None and workloads.synced:
            known = by_owner(each for _, each in workloads.items())
        positions = await self.reader.positions(outlines, known)
        context = ListContext(
            workloads=known, positions=positions, gpu_resources=self.gpu_resources
        )
        now = self.reader.cluster.now()
        show(self.view.rows(outlines, context, now), now, appwrappers.failing)


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
