"""`appwrapper history`: the ended AppWrappers and their GPU-hours, as sacct lists jobs."""

import argparse

from cli.command import ExitCode
from cli.options import add_connection, add_output, add_selection, check_selection
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Lists ended AppWrappers, the latest end first: how long they held quota, and their GPU-hours.

  appwrapper history --me                      # my own
  appwrapper history --since 24h --state failed
  appwrapper history --by user                 # GPU-hours of the team's users
  appwrapper history -A --by team --since 7d   # of each team, for admins
  appwrapper history -A -o csv                 # for a spreadsheet

An AppWrapper is listed until it is deleted: after its success TTL, or by a user.
"""
STATES = ("Succeeded", "Failed")
SORTS = ("ended", "name", "user", "time", "attempts", "gpus", "hours")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser, STATES, "those with this end only")
    parser.add_argument(
        "--since", metavar="DURATION", help="those that ended in this last time, such as 24h or 7d"
    )
    parser.add_argument(
        "--by", choices=("user", "team"), help="totals for each user or team (its namespace)"
    )
    parser.add_argument(
        "--sort",
        metavar="COLUMN",
        choices=SORTS,
        default="ended",
        help=f"the order: {', '.join(SORTS)} (default: ended, the latest first)",
    )
    add_output(parser, "wide", "csv")
    add_connection(parser)


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """List once. Raises CommandError unless the options agree."""
    import asyncio  # --help starts without it

    from cli.accounting import running

    check_selection(arguments)
    return asyncio.run(running.run(arguments, terminal))
