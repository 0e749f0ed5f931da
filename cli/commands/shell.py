"""`appwrapper shell`: a shell, or a command, in a running pod."""

import argparse

from cli.options import add_connection, add_pod_choice
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Opens a shell in a running pod of an AppWrapper, or runs a command there.

  appwrapper shell train                        # in the pod of the lowest rank
  appwrapper shell train --rank 3               # in the pod of this rank
  appwrapper shell train -- nvidia-smi          # one command
  appwrapper shell train -- tar c ckpt > ck.tar # its output, byte by byte

The exit code is the command's. Write options before the two hyphens.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="an AppWrapper of the namespace")
    add_pod_choice(parser)
    parser.add_argument(
        "-c",
        "--container",
        metavar="NAME",
        default="",
        help="also a sidecar; default: the pod's main container",
    )
    add_connection(parser)
    parser.add_argument(
        "words",
        metavar="-- COMMAND",
        nargs="*",
        help="a program of the image, with its arguments; default: bash or sh",
    )


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> int:
    import asyncio

    from cli.reaching import shell

    return asyncio.run(shell.run(arguments, terminal))
