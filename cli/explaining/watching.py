"""Follow one AppWrapper (`explain --watch`) until it has succeeded, has failed or is gone."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from datetime import timedelta
from typing import Final

from rich.console import RenderableType
from rich.live import Live

from cli.cluster.connection import Cluster
from cli.command import CommandError, ExitCode
from cli.durations import clock
from cli.explaining.compose import explain
from cli.explaining.gather import ExplanationReader
from cli.explaining.report import ExplainReport
from cli.explaining.text import render
from cli.terminal import CommandTerminal, harmless
from controller.phases.phase import Phase
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import KubeError, NotFound

# The period for reading pods and queues. A watch reports changes of the AppWrapper at once.
EVERY: Final = timedelta(seconds=3)
_ENDS: Final = {
    Phase.SUCCEEDED.value: ExitCode.FINE,
    Phase.FAILED.value: ExitCode.WANTING,
}


async def follow(cluster: Cluster, name: str, output: str, terminal: CommandTerminal) -> ExitCode:
    """Update one screen in place on a terminal; write each change to a pipe."""
    gatherer = ExplanationReader(cluster, cluster.namespace)
    raw = await gatherer.appwrapper(name)
    if output == "text" and terminal.stdout.isatty():
        console = terminal.console()
        last: list[RenderableType] = []
        live = Live(console=console, auto_refresh=False, vertical_overflow="crop", transient=True)

        def show(report: ExplainReport) -> None:
            last[:] = [render(report)]
            live.update(*last, refresh=True)

        try:
            with live:
                return await _follow(gatherer, raw, show)
        finally:
            for each in last:  # whole: the screen was cut at the window's edges
                console.print(each, crop=False)
    return await _follow(gatherer, raw, _printer(output, terminal))


def _printer(output: str, terminal: CommandTerminal) -> Callable[[ExplainReport], None]:
    """Return a function that prints a report unless it is the same as the previous one.

    The first one follows what had happened before.
    """
    shown: tuple[object, ...] = ()

    def show(report: ExplainReport) -> None:
        nonlocal shown
        for each in report.timeline if output == "text" and not shown else ():
            at = clock(each.at, report.seen_at)
            terminal.write(f"{at}  {harmless(each.what)}\n")
        last, shown = shown, (report.situation, report.phase, report.attempt, report.details)
        if shown == last:
            return
        if output == "text":
            at = clock(report.seen_at, report.seen_at)
            terminal.write(f"{at}  {harmless(report.answer)}\n")
        else:
            terminal.write_data(report, output)
        terminal.stdout.flush()

    return show


async def _follow(
    gatherer: ExplanationReader, raw: JsonObject, show: Callable[[ExplainReport], None]
) -> ExitCode:
    name, uid = raw["metadata"]["name"], raw["metadata"]["uid"]
    while True:
        (seen,) = await gatherer.seen([raw])
        report = explain(seen)
        show(report)
        if (code := _ENDS.get(report.phase)) is not None:
            return code
        await _changed(gatherer, raw)
        try:
            raw = await gatherer.cluster.client.get(APPWRAPPERS, gatherer.namespace, name)
        except NotFound:
            raw = {}
        if (raw.get("metadata") or {}).get("uid") != uid:
            raise CommandError(f"{name} was deleted before it ended", ExitCode.WANTING)


async def _changed(gatherer: ExplanationReader, raw: JsonObject) -> None:
    """Wait for a change of the AppWrapper, at most EVERY. Wait that long if the watch fails."""
    metadata, client = raw["metadata"], gatherer.cluster.client
    watch = client.watch(
        APPWRAPPERS,
        gatherer.namespace,
        resource_version=metadata["resourceVersion"],
        field_selector=f"metadata.name={metadata['name']}",
    )
    seconds = EVERY.total_seconds()
    try:
        async with asyncio.timeout(seconds), aclosing(watch) as events:
            async for event in events:
                if event.object.get("spec") is not None:  # a bookmark has none
                    return
    except TimeoutError:
        return
    except KubeError:
        await gatherer.cluster.clock.sleep(seconds)
