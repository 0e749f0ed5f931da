"""Run `appwrapper explain`: from its arguments to its output."""

import argparse
from collections.abc import Sequence

from cli.cluster.connection import connected
from cli.command import CommandError, ExitCode
from cli.explaining.compose import explain
from cli.explaining.gather import AppWrapperReader
from cli.explaining.report import ExplainReport
from cli.explaining.text import render, render_line
from cli.explaining.watching import follow
from cli.manifests.reading import read_all
from cli.terminal import CommandTerminal
from shared.api.names import KIND
from shared.api.objects import metadata


async def explain_some(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Explain the AppWrappers that the arguments or the file name."""
    wanted = named_in(arguments, terminal)
    async with connected(arguments) as cluster:
        reports = []
        for namespace, name in wanted:
            with terminal.progress(f"Reading {name}"):
                gatherer = AppWrapperReader(cluster, namespace or cluster.namespace)
                raw = await gatherer.appwrapper(name)
                (seen,) = await gatherer.seen([raw], await gatherer.world([raw]))
                reports.append(explain(seen))
    _print(reports, arguments.output, terminal)
    return ExitCode.FINE


async def explain_all(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Print a line for each AppWrapper of the namespace, or whole reports with -o json and yaml."""
    async with connected(arguments) as cluster:
        gatherer = AppWrapperReader(cluster, cluster.namespace)
        with terminal.progress(f"Reading namespace {cluster.namespace}"):
            found = await gatherer.all()
            world = await gatherer.world(found)
            reports = [explain(each) for each in await gatherer.seen(found, world)]
    if arguments.output != "text":
        terminal.write_data(reports, arguments.output)
    elif reports:
        terminal.console().print(render_line(reports))
    else:
        terminal.write(f"There are no AppWrappers in namespace {cluster.namespace}.\n")
    return ExitCode.FINE


async def follow_one(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Follow one AppWrapper until it has ended."""
    async with connected(arguments) as cluster:
        return await follow(cluster, arguments.names[0], arguments.output, terminal)


def named_in(arguments: argparse.Namespace, terminal: CommandTerminal) -> list[tuple[str, str]]:
    """Return namespace (may be "") and name of each AppWrapper. Raises CommandError."""
    if arguments.filename is None:
        return [("", name) for name in arguments.names]
    manifests = read_all([arguments.filename], terminal.stdin).manifests
    named = [metadata(each.value) for each in manifests if each.kind == KIND]
    found = [each for each in named if each.get("name")]
    if not found:
        raise CommandError(f"{arguments.filename}: there is no AppWrapper with a name in it")
    return [
        (arguments.namespace or str(each.get("namespace") or ""), str(each["name"]))
        for each in found
    ]


def _print(reports: Sequence[ExplainReport], output: str, terminal: CommandTerminal) -> None:
    if output != "text":
        terminal.write_data(reports[0] if len(reports) == 1 else reports, output)
        return
    console = terminal.console()
    for index, each in enumerate(reports):
        if index:
            console.print()
        console.print(render(each))
