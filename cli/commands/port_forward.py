"""`appwrapper port-forward`: a port of a running pod, on this machine."""

import argparse

from cli.command import ExitCode
from cli.options import add_connection, add_pod_choice
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Makes a port of a running pod reachable on this machine, and on this machine only.

  appwrapper port-forward train 6006             # TensorBoard, 127.0.0.1:6006
  appwrapper port-forward train 18265:8265       # at 127.0.0.1:18265
  appwrapper port-forward train 0:8888 --rank 3  # at a free port, printed

It ends with Ctrl-C, and with exit code 1 when the attempt ends.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="an AppWrapper of the namespace")
    parser.add_argument(
        "ports",
        metavar="[LOCAL:]PORT",
        help="the pod's port; LOCAL is this machine's, default: the same number, 0: a free one",
    )
    add_pod_choice(parser)
    add_connection(parser)


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    import asyncio

    from cli.reaching import port_forward

    return asyncio.run(port_forward.run(arguments, terminal))
