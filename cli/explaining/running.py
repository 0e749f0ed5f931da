"""Run `appwrapper explain`: from its arguments to its output."""

import argparse
from collections.abc import Iterable, Sequence

from cli.cluster.connection import connected
from cli.command import CommandError, ExitCode
from cli.explaining.compose import explain
from cli.explaining.gather import AppWrapperReader
from cli.explaining.report import ExplainReport
from cli.explaining.text import render, render_line
from cli.explaining.watching import follow
from cli.reports import as_json, to_text
from cli.terminal import CommandTerminal
from shared.api.names import KIND
from shared.api.objects import JsonObject


async def explain_some(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Explain the AppWrappers that the arguments or the file name."""
    wanted = named_in(arguments, terminal)
    async with connected(arguments) as cluster:
        reports = []
        for namespace, name in wanted:
            with terminal.progress(f"Reading {name}"):
                gatherer = AppWrapperReader(cluster, namespace or cluster.namespace)
                raw = await gatherer.appwrapper(name)
                reports.append(explain(await gatherer.seen(raw, await gatherer.world([raw]))))
    _print(reports, arguments.output, terminal)
    return ExitCode.FINE


async def explain_all(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Print a line for each AppWrapper of the namespace, or whole reports with -o json and yaml."""
    async with connected(arguments) as cluster:
        gatherer = AppWrapperReader(cluster, cluster.namespace)
        with terminal.progress(f"Reading namespace {cluster.namespace}"):
            found = await gatherer.all()
            world = await gatherer.world(found)
            reports = [explain(each) for each in await gatherer.all_seen(found, world)]
    if arguments.output != "text":
        terminal.write(to_text(as_json(reports), arguments.output))
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
    if arguments.filename == "-":
        text = terminal.stdin.read()
    else:
        with open(arguments.filename, encoding="utf-8") as file:
            text = file.read()
    found = [*_appwrappers(text, arguments.filename)]
    if not found:
        raise CommandError(f"{arguments.filename}: there is no AppWrapper with a name in it")
    return [(arguments.namespace or namespace, name) for namespace, name in found]


def _appwrappers(text: str, source: str) -> Iterable[tuple[str, str]]:
    import yaml

    try:
        documents = list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        raise CommandError(f"{source}: this is not YAML: {error}") from error
    for document in documents:
        for item in _items(document):
            metadata = item.get("metadata")
            if item.get("kind") == KIND and isinstance(metadata, dict) and metadata.get("name"):
                yield str(metadata.get("namespace") or ""), str(metadata["name"])


def _items(document: object) -> list[JsonObject]:
    """Return the document, or the items if it is a List."""
    if not isinstance(document, dict):
        return []
    items = document.get("items") if document.get("kind") == "List" else [document]
    return [each for each in items or () if isinstance(each, dict)]


def _print(reports: Sequence[ExplainReport], output: str, terminal: CommandTerminal) -> None:
    if output != "text":
        found = as_json(reports[0] if len(reports) == 1 else list(reports))
        terminal.write(to_text(found, output))
        return
    console = terminal.console()
    for index, each in enumerate(reports):
        if index:
            console.print()
        console.print(render(each))
