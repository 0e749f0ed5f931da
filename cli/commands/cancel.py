"""`appwrapper cancel`: deletes AppWrappers, as scancel ends jobs."""

import argparse

from cli.command import CommandError, ExitCode
from cli.options import add_connection
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Cancels AppWrappers: deletes them with all of their pods and other components.

  appwrapper cancel train           # asks before
  appwrapper cancel --me            # created by you, and not ended yet
  appwrapper cancel -l project=vision --yes
  appwrapper cancel train --wait    # until its pods are gone and its quota free

Ended AppWrappers are deleted only by their names.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="AppWrappers of the namespace")
    parser.add_argument("--me", action="store_true", help="only AppWrappers that you created")
    parser.add_argument("-l", "--selector", metavar="KEY=VALUE", help="those with these labels")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask for confirmation")
    parser.add_argument("--wait", action="store_true", help="wait until they are gone")
    add_connection(parser)


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Cancel. Raises CommandError unless the options choose AppWrappers."""
    import asyncio  # --help starts without it

    from cli.cancelling import running
    from cli.cancelling.selection import wrong_usage

    error = wrong_usage(arguments.names, me=arguments.me, selector=arguments.selector)
    if error:
        raise CommandError(error)
    return asyncio.run(running.run(arguments, terminal))
