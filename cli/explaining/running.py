"""Run `appwrapper explain`: from its arguments to its output."""

import argparse

from cli.cluster.connection import Cluster, connected
from cli.command import CommandError, ExitCode
from cli.explaining.compose import explain
from cli.explaining.gather import ExplanationReader
from cli.explaining.report import ExplainReport
from cli.explaining.text import render, render_line
from cli.explaining.watching import follow
from cli.manifests.reading import read_all
from cli.terminal import CommandTerminal
from shared.api.names import KIND
from shared.api.objects import metadata


async def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Explain or follow the AppWrappers that the arguments or the file name, or explain all."""
    wanted = [] if arguments.all else named_in(arguments, terminal)
    async with connected(arguments) as cluster:
        if arguments.watch:
            return await follow(cluster, arguments.names[0], arguments.output, terminal)
        if arguments.all:
            reports = await _all(ExplanationReader(cluster, cluster.namespace), terminal)
        else:
            reports = [await _one(cluster, *each, terminal) for each in wanted]
    if arguments.output != "text":
        is_one = len(reports) == 1 and not arguments.all
        terminal.write_data(reports[0] if is_one else reports, arguments.output)
    elif not arguments.all:
        console = terminal.console()
        for index, each in enumerate(reports):
            if index:
                console.print()
            console.print(render(each), crop=False)  # commands are one line
    elif reports:
        terminal.console().print(render_line(reports), crop=False)
    else:
        terminal.write(f"There are no AppWrappers in namespace {cluster.namespace}.\n")
    return ExitCode.FINE


async def _one(
    cluster: Cluster, namespace: str, name: str, terminal: CommandTerminal
) -> ExplainReport:
    with terminal.progress(f"Reading {name}"):
        reader = ExplanationReader(cluster, namespace or cluster.namespace)
        raw = await reader.appwrapper(name)
        (seen,) = await reader.seen([raw])
        return explain(seen)


async def _all(reader: ExplanationReader, terminal: CommandTerminal) -> list[ExplainReport]:
    with terminal.progress(f"Reading namespace {reader.namespace}"):
        return [explain(each) for each in await reader.seen(await reader.all())]


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
