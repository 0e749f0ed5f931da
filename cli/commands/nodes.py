"""`appwrapper nodes`: GPUs by shape of node, as sinfo shows partitions."""

import argparse

from cli.command import ExitCode
from cli.options import add_connection, add_output
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Shows the GPUs of the cluster, by shape of node, and which nodes are bad and why.

  appwrapper nodes            # a line for each shape
  appwrapper nodes -o wide    # a line for each node

EACH: the GPUs of one node. BLOCK: the most free GPUs on one node, so the largest pod that fits now.
USED, FREE and BLOCK need the right to list the pods of all namespaces, which members of teams lack
unless an admin granted it. Without it the command shows the sum of what Kueue's queues admitted.
"""
_ASK = ". An admin can grant it: docs/users/nodes.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_output(parser, "wide")
    add_connection(parser, namespaced=False)


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    import asyncio  # --help starts without it

    return asyncio.run(_run(arguments, terminal))


async def _run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    from cli.cluster.connection import connected
    from cli.nodes.gather import observed_nodes
    from cli.nodes.report import nodes_report
    from cli.nodes.text import nodes_text, shapes_text

    async with connected(arguments) as cluster:
        report = nodes_report(await observed_nodes(cluster.client, cluster.now()))
    if arguments.output == "wide":
        terminal.write(nodes_text(report))
    elif arguments.output == "text":
        terminal.write(shapes_text(report, terminal.width()))
    else:
        terminal.write_data(report, arguments.output)
    if report.unread:
        ask = "" if report.in_queues is None else _ASK
        terminal.warn(f"not known: {'; '.join(report.unread)}{ask}")
    return ExitCode.FINE
