"""`appwrapper list`: the AppWrappers of a namespace or of the cluster, as squeue lists jobs."""

import argparse

from cli.command import CommandError, ExitCode
from cli.options import add_connection, add_output
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Lists AppWrappers: who has them, what they use, and why they wait. Ended ones too.

  appwrapper list                          # of the namespace
  appwrapper list --me --state running     # my own that run
  appwrapper list -A --sort position       # of all namespaces, in the order of the queues
  appwrapper list --watch                  # until Ctrl-C

`ls` and `queue` do the same. POSITION is the place in the ClusterQueue.
`appwrapper explain NAME` has the whole reason.
"""
# The phases, in the order of a life. A test compares them: the import would slow down --help.
STATES = (
    "Suspended",
    "Resuming",
    "Running",
    "Resetting",
    "Suspending",
    "Succeeded",
    "Failed",
    "Terminating",
)
SORTS = ("status", "name", "user", "gpus", "priority", "queue", "position", "age")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--me", action="store_true", help="my own only")
    parser.add_argument("--user", metavar="NAME", help="those of this user only")
    parser.add_argument(
        "--state",
        dest="states",
        metavar="STATE",
        action="append",
        default=[],
        type=str.capitalize,
        choices=STATES,
        help=f"those in this state only; may be given several times: {', '.join(STATES)}",
    )
    parser.add_argument(
        "-A", "--all-namespaces", action="store_true", help="of all namespaces, for admins"
    )
    parser.add_argument(
        "--sort",
        metavar="COLUMN",
        choices=SORTS,
        default="status",
        help=f"the order: {', '.join(SORTS)} (default: status, then position)",
    )
    parser.add_argument("-w", "--watch", action="store_true", help="show changes until Ctrl-C")
    add_output(parser, "wide", "name")
    add_connection(parser)


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """List once, or follow the list. Raises CommandError unless the options agree."""
    import asyncio  # --help starts without it
    import gc

    from cli.listing import running

    if arguments.me and arguments.user:
        raise CommandError("--me and --user name two users: give one of them")
    if arguments.all_namespaces and arguments.namespace:
        raise CommandError("-A lists all namespaces and -n one: give one of them")
    if arguments.watch:
        return asyncio.run(running.run(arguments, terminal))
    gc.disable()  # decoded lists have no cycles, and the search for some takes a third of the time
    try:
        return asyncio.run(running.run(arguments, terminal))
    finally:
        gc.enable()
