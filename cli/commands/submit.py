"""`appwrapper submit`: creates AppWrappers from manifests, and follows them on request."""

import argparse

from cli.command import ExitCode
from cli.commands.pack import add_wrapping, wrapping_of
from cli.options import add_connection
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Creates the AppWrapper of a manifest. Other objects are wrapped first, as by `appwrapper pack`.

  appwrapper submit job.yaml              # returns once it is created
  appwrapper submit job.yaml --wait       # a line for each stage, to the end
  appwrapper submit job.yaml --follow     # with the logs of all pods

Exit code: with --wait or --follow 0 succeeded, 1 failed; 130 after Ctrl-C: it continues.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="AppWrappers, or objects to wrap into one: a file, a folder, or - for standard input"
        " (the default)",
    )
    parser.add_argument(
        "--wait", action="store_true", help="wait for the end, with a line for each stage"
    )
    parser.add_argument(
        "--follow", action="store_true", help="wait for the end, and print the logs of all pods"
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "name", "json"),
        default="text",
        help="how to print the AppWrapper; json with --wait prints it at its end (default: text)",
    )
    add_wrapping(parser)
    add_connection(parser)


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    import asyncio

    from cli.submitting.running import SubmitCommand

    command = SubmitCommand(arguments, wrapping_of(arguments), terminal)
    try:
        return asyncio.run(command.run())
    except KeyboardInterrupt:
        command.detached()
        return ExitCode.INTERRUPTED
