"""`appwrapper release`: lets held AppWrappers run again, as scontrol release does."""

import argparse

from cli.command import ExitCode
from cli.options import add_connection
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Releases AppWrappers that `appwrapper hold` holds: Kueue queues them again.

  appwrapper release train

The next attempt starts from the beginning: the program must read its own checkpoint.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="+", help="AppWrappers of the namespace")
    add_connection(parser)


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Release."""
    import asyncio  # --help starts without it

    from cli.holding.release import release

    return asyncio.run(release(arguments, terminal))
