"""`appwrapper explain`: why an AppWrapper does not run, what happens next, and when."""

import argparse

from cli.command import CommandError, ExitCode
from cli.options import add_connection, add_output
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Shows why an AppWrapper is not running, what happens next, and when.

  appwrapper explain train                 # one AppWrapper
  appwrapper explain -f train.yaml         # those that a file names
  appwrapper explain --all                 # all of the namespace, a line each
  appwrapper explain train --watch         # follow it to its end
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="AppWrappers of the namespace")
    parser.add_argument(
        "-f", "--filename", metavar="FILE", help="those that are in this file; - reads from stdin"
    )
    parser.add_argument("--all", action="store_true", help="all of the namespace, a line each")
    parser.add_argument(
        "-w",
        "--watch",
        action="store_true",
        help="follow one until it succeeded, failed or is gone",
    )
    add_output(parser)
    add_connection(parser)


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Explain or follow the AppWrappers. Raises CommandError unless the options agree."""
    import asyncio

    from cli.explaining import running

    given = [bool(arguments.names), arguments.filename is not None, arguments.all]
    if sum(given) != 1:
        raise CommandError("name the AppWrapper: explain NAME, explain -f FILE or explain --all")
    if arguments.watch and len(arguments.names) != 1:
        raise CommandError("--watch follows one AppWrapper: explain NAME --watch")
    return asyncio.run(running.run(arguments, terminal))
