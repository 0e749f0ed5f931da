"""`appwrapper history`: the ended AppWrappers and their GPU-hours, as sacct lists jobs."""

import argparse

from cli.command import CommandError, ExitCode
from cli.options import add_connection, add_output
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Lists ended AppWrappers, the latest end first: how long they held quota, and their GPU-hours.

  appwrapper history --me                       # my own
  appwrapper history --since 24h --state failed
  appwrapper history --by user                  # GPU-hours of each user of the team
  appwrapper history -A --by team --since 7d    # of each team, for admins
  appwrapper history -A -o csv                  # for a spreadsheet

An AppWrapper is listed until it is deleted: after its success TTL, or by a user.
"""
STATES = ("Succeeded", "Failed")
SORTS = ("ended", "name", "user", "time", "attempts", "gpus", "hours")


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
        help=f"those with this end only: {', '.join(STATES)}",
    )
    parser.add_argument(
        "--since", metavar="DURATION", help="those that ended in this last time, such as 24h or 7d"
    )
    parser.add_argument(
        "-A", "--all-namespaces", action="store_true", help="of all namespaces, for admins"
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

    if arguments.me and arguments.user:
        raise CommandError("--me and --user name two users: give one of them")
    if arguments.all_namespaces and arguments.namespace:
        raise CommandError("-A lists all namespaces and -n one: give one of them")
    return asyncio.run(running.run(arguments, terminal))
