"""`appwrapper list`: the AppWrappers of a namespace or of the cluster, as squeue lists jobs."""

import argparse

from cli.command import ExitCode
from cli.options import add_connection, add_output, add_selection, check_selection
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Lists AppWrappers: who has them, what they use, and why they wait. Ended ones too.

  appwrapper list                        # of the namespace
  appwrapper list --me --state running   # my own that run
  appwrapper list -A --sort position     # of all namespaces, in queue order
  appwrapper list --watch                # until Ctrl-C

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
    add_selection(parser, STATES, "those in this state only; may be given several times")
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
    import gc

    check_selection(arguments)
    # Decoded lists and modules have no garbage, and the search for some takes a third of the time.
    if not arguments.watch:
        gc.disable()
    try:
        import asyncio  # --help starts without it

        from cli.listing import running

        return asyncio.run(running.run(arguments, terminal))
    finally:
        gc.enable()
