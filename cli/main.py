"""Start and end the program: pick the command, report errors, choose the exit code.

Each command is a module of `cli.commands`. It is imported only if the command line names it, so
that --help and commands without a cluster start fast.
"""

import argparse
import importlib
import io
import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, Final, NoReturn

from cli.command import Command, CommandError, ExitCode
from cli.terminal import CommandTerminal, harmless

DESCRIPTION: Final = (
    "Fault-tolerant AI batch jobs under Kueue: AppWrappers for users, teams and admins."
)
# Name -> summary, in the order of a workload's life, users' commands first.
COMMANDS: Final = {
    "submit": "create AppWrappers from manifests, and follow them",
    "list": "list AppWrappers: who has them, and why they wait",
    "explain": "show why an AppWrapper is not running, and what is next",
    "logs": "show the logs of an AppWrapper's pods, by rank",
    "shell": "open a shell in a running pod, or run a command there",
    "port-forward": "make a port of a running pod reachable on this machine",
    "hold": "keep AppWrappers from running, or stop them, until a release",
    "release": "let held AppWrappers run again",
    "cancel": "delete AppWrappers with their pods, after a question",
    "history": "list ended AppWrappers with their GPU-hours",
    "resubmit": "run an ended AppWrapper again under a new name",
    "pack": "wrap manifests into one AppWrapper",
    "generate": "write an AppWrapper around a PyTorchJob, from a values file",
    "validate": "report what the webhook would refuse or warn about",
    "check": "show quota, usage and capacity, and what is wrong",
    "nodes": "show GPUs by shape of node: all, in use, free, and bad nodes",
    "team": "create, list, show and delete teams",
    "completion": "print the completion for a shell",
}
ALIASES: Final = {"ls": "list", "queue": "list"}


def program() -> None:
    """Entry point of `appwrapper` and `kubectl appwrapper`."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # kubectl reads no other encoding
    try:
        sys.exit(main(sys.argv[1:], CommandTerminal()))
    except KeyboardInterrupt:  # while options are parsed, before a command runs
        sys.exit(ExitCode.INTERRUPTED)


def main(argv: Sequence[str], terminal: CommandTerminal) -> int:
    if "_ARGCOMPLETE" in terminal.environment:
        import argcomplete

        argcomplete.autocomplete(build_parser((*COMMANDS, *ALIASES)))
    parser = build_parser(argv)
    try:
        arguments = _parsed(parser, argv)
    except SystemExit as end:  # argparse has printed the help or the error
        return end.code if isinstance(end.code, int) else ExitCode.UNABLE
    if arguments.command is None:
        parser.print_help(terminal.stdout)
        return ExitCode.UNABLE
    name = ALIASES.get(arguments.command, arguments.command)
    return _run(load(name), arguments, terminal)


def _parsed(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """Parse the command line. argparse would refuse a program's words after options of `shell`."""
    before = [*takewhile(lambda word: word != "--", argv)]
    if before[:1] != ["shell"]:
        return parser.parse_args(argv)
    arguments = parser.parse_args(before)
    arguments.words += argv[len(before) + 1 :]
    return arguments


def build_parser(words: Iterable[str]) -> argparse.ArgumentParser:
    """Return a parser for all commands, with the options of the commands among `words` only."""
    # kubectl runs plug-ins by a file name with a hyphen.
    is_plugin = sys.argv[0].endswith("kubectl-appwrapper")
    called_as = "kubectl appwrapper" if is_plugin else "appwrapper"
    parser = argparse.ArgumentParser(prog=called_as, description=DESCRIPTION)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    given = {*words}
    for name, summary in COMMANDS.items():
        _add_command(subparsers, name, load(name) if name in given else None, help=summary)
    for alias in given & {*ALIASES}:  # without a help text, --help does not list it
        _add_command(subparsers, alias, load(ALIASES[alias]))
    return parser


def _add_command(
    subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    command: Command | None,
    **options: Any,
) -> None:
    sub = subparsers.add_parser(
        name,
        description=command.description if command else None,
        formatter_class=_HelpFormatter,
        allow_abbrev=False,  # a new option would make users' abbreviations ambiguous
        **options,
    )
    sub.add_argument("--debug", action="store_true", help="show where an error comes from")
    if command is not None:
        command.add_arguments(sub)


def load(name: str) -> Command:
    """Import the command's module; return its parts."""
    module = importlib.import_module(f"cli.commands.{name.replace('-', '_')}")
    return Command(module.DESCRIPTION, module.add_arguments, module.run)


def _run(command: Command, arguments: argparse.Namespace, terminal: CommandTerminal) -> int:
    try:
        code = command.run(arguments, terminal)
        terminal.stdout.flush()
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # Python flushes standard output again at exit, which would print a second error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.PIPE_CLOSED
    except Exception as error:  # noqa: BLE001 - the end of the program: all is worded, or shown whole
        return _failed(error, arguments, terminal)
    return code


def _failed(error: Exception, arguments: argparse.Namespace, terminal: CommandTerminal) -> int:
    if arguments.debug:
        traceback.print_exception(error, file=terminal.stderr)
    terminal.stderr.write(f"error: {harmless(_words(error))}\n")
    return error.exit_code if isinstance(error, CommandError) else ExitCode.UNABLE


def _words(error: Exception) -> str:
    if isinstance(error, CommandError):
        return str(error)
    if isinstance(error, OSError) and error.strerror is not None:
        # An error without a file name is a stream's, such as a full disk.
        return f"{error.filename or 'input or output'}: {error.strerror}"
    # The module of KubeError is not imported here: commands without a cluster start fast.
    if any(each.__module__ == "shared.kube.responses" for each in type(error).__mro__):
        return str(error)
    return (
        f"this is a fault of the command itself ({type(error).__name__}: {error})."
        " Run it again with --debug and report what it prints"
    )


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Fold a description's paragraphs, and not its examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        from cli.folding import folded_paragraphs

        return super()._fill_text(folded_paragraphs(text, width), width, indent)


class _Version(argparse.Action):
    """Read the version only for --version: that takes longer than all of --help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import PackageNotFoundError, version

        try:
            found = version("appwrapper-operator")
        except PackageNotFoundError:
            found = "from a checkout"
        parser.exit(message=f"{parser.prog} {found}\n")
