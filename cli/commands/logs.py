"""`appwrapper logs`: the logs of an AppWrapper's pods, by rank."""

import argparse

from cli.command import ExitCode
from cli.options import add_connection, add_several
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Shows the logs of an AppWrapper's pods, merged by time. Each line begins with the pod's rank.

  appwrapper logs train                  # the pod that failed first, else all
  appwrapper logs train -f               # follow all pods to the attempt's end
  appwrapper logs train --rank 3         # the whole log of one pod
  appwrapper logs train --all --tail -1  # all lines of all pods
  appwrapper logs train --attempt 1      # an attempt whose pods are deleted
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="an AppWrapper of the namespace")
    parser.add_argument(
        "-f",
        "--follow",
        action="store_true",
        help="print new lines, also of pods that start later, until the attempt has ended",
    )
    parser.add_argument(
        "--rank",
        dest="ranks",
        metavar="N",
        type=int,
        action="append",
        default=[],
        help="the pod of this rank (Master 0, then the workers); may be given several times",
    )
    add_several(parser, "--pod", dest="pods", metavar="NAME", about="the pod of this name")
    parser.add_argument(
        "--all", dest="everything", action="store_true", help="all pods, also after a failure"
    )
    parser.add_argument(
        "-c",
        "--container",
        metavar="NAME",
        default="",
        help="also an init container or a sidecar; default: the pod's main container",
    )
    parser.add_argument(
        "--attempt", metavar="N", type=int, help="an earlier attempt; default: the latest"
    )
    parser.add_argument(
        "--since", metavar="DURATION", help="only lines of this last time, such as 10m"
    )
    parser.add_argument(
        "--tail",
        metavar="N",
        type=int,
        help="the last lines of each pod, -1 for all; default: all of one pod, 10 of each of"
        " several",
    )
    parser.add_argument("--timestamps", action="store_true", help="print the time of each line")
    add_connection(parser)


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    import asyncio

    from cli.logs import running

    return asyncio.run(running.run(arguments, terminal))
