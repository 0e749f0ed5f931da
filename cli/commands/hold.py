"""`appwrapper hold`: keeps AppWrappers from running, as scontrol hold keeps jobs."""

import argparse

from cli.command import ExitCode
from cli.options import add_connection
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Holds AppWrappers: nothing of them runs until `appwrapper release`.

  appwrapper hold train          # a waiting one leaves the queue at once
  appwrapper hold train --yes    # a running one stops; without --yes it asks

A running one loses what it did since its last checkpoint. Its pods are deleted, and then its quota
is free for others. A hold spends no retry.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="+", help="AppWrappers of the namespace")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask before stopping pods")
    add_connection(parser)


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Hold. Raises CommandError unless the user confirms."""
    import asyncio  # --help starts without it

    from cli.holding.hold import hold

    return asyncio.run(hold(arguments, terminal))
