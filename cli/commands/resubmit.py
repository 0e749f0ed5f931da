"""`appwrapper resubmit`: runs an ended AppWrapper again under a new name."""

import argparse

from cli.command import CommandError, ExitCode
from cli.options import add_connection, add_output, add_several
from cli.terminal import CommandTerminal

DESCRIPTION = """\
Submits an AppWrapper again that has succeeded or failed, under a new name such as train-2.

  appwrapper resubmit train
  appwrapper resubmit train --set retryLimit=5 --set retryPausePeriodDuration=0s
  appwrapper resubmit train --dry-run -o yaml      # only show it

The new one is as the old one was submitted, in the same queue. --set changes annotations, and
KEY= removes one. docs/users/annotations.md lists them.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="an AppWrapper that has ended")
    add_several(
        parser, "--set", dest="settings", metavar="KEY=VALUE", about="an annotation of the new one"
    )
    parser.add_argument(
        "--remove-old",
        action="store_true",
        help="first delete the pods and components of the old one, also kept volumes; the"
        " AppWrapper itself stays",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="only check it: the API server stores nothing"
    )
    add_output(parser, "name")
    add_connection(parser)


def run(arguments: argparse.Namespace, terminal: CommandTerminal) -> ExitCode:
    """Resubmit. Raises CommandError for an unknown setting."""
    import asyncio  # --help starts without it

    from cli.resubmitting import running
    from cli.resubmitting.copied import SettingError, parsed_settings

    try:
        settings = parsed_settings(arguments.settings)
    except SettingError as error:
        raise CommandError(str(error)) from error
    return asyncio.run(running.run(arguments, settings, terminal))
