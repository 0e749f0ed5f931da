"""Run `appwrapper list`: from its arguments to its output."""

import argparse
import asyncio
from collections.abc import Sequence

from cli.cluster.connection import Cluster, connected
from cli.cluster.identity import own_name
from cli.command import ExitCode
from cli.creators import creator_selector
from cli.listing.gather import ListReader, ListScope
from cli.listing.rows import ListContext, ListedAppWrapper
from cli.listing.view import ListView, complain
from cli.terminal import CommandTerminal


async def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """List once, or follow the list with --watch."""
    async with connected(arguments) as cluster:
        user = await own_name(cluster.client) if arguments.me else arguments.user
        view = ListView(
            output=arguments.output,
            sort=arguments.sort,
            states=arguments.states,
            user=user or "",
            own=arguments.me,
            namespaces=arguments.all_namespaces,
        )
        namespace = None if arguments.all_namespaces else cluster.namespace
        selector = creator_selector(user) if user else ""
        reader = ListReader(cluster, ListScope(namespace=namespace, selector=selector))
        if arguments.watch:
            from cli.listing.watching import follow

            await follow(reader, view, terminal)  # until Ctrl-C
        rows = await _read(reader, view)
        _print(rows, view, cluster, terminal)
        complain(reader, view, terminal)
    return ExitCode.FINE


async def _read(reader: ListReader, view: ListView) -> list[ListedAppWrapper]:
    outlines, workloads, resources = await asyncio.gather(
        reader.appwrappers(), reader.workloads(), reader.gpu_resources()
    )
    positions = await reader.positions(outlines, workloads)
    context = ListContext(workloads=workloads, positions=positions, gpu_resources=resources)
    return view.rows(outlines, context, reader.cluster.now())


def _print(
    rows: Sequence[ListedAppWrapper], view: ListView, cluster: Cluster, terminal: CommandTerminal
) -> None:
    if view.output == "name":
        terminal.write("".join(f"{view.name(row)}\n" for row in rows))
    elif not view.is_text:
        terminal.write_data(rows, view.output)
    elif rows:
        terminal.write(view.text(rows, cluster.now(), terminal.width()))
    else:
        where = "in any namespace" if view.namespaces else f"in namespace {cluster.namespace}"
        which = " that you asked for" if view.states or view.user else ""
        terminal.write(f"There are no AppWrappers{which} {where}.\n")
