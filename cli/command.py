"""The parts of each command of `appwrapper`: options, exit code and error."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from cli.terminal import CommandTerminal


class ExitCode(IntEnum):
    """The exit codes of all commands, for pipelines."""

    FINE = 0
    WANTING = 1  # the check is complete and found a problem
    UNABLE = 2  # no result: wrong usage, an unreadable file, no cluster
    INTERRUPTED = 130  # by Ctrl-C: 128 + SIGINT
    PIPE_CLOSED = 141  # the program that read the output has ended: 128 + SIGPIPE


class CommandError(Exception):
    """Ends the command. The text names the problem and the next step, without "error:"."""

    def __init__(self, text: str, exit_code: ExitCode = ExitCode.UNABLE) -> None:
        super().__init__(text)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Command:
    """One command.

    `run` returns the exit code: an `ExitCode`, or that of a program in a pod. It may raise
    CommandError, KubeError (from the API server) and OSError (from a file that the user named);
    `cli.main` reports them.
    """

    description: str  # --help prints it below the usage
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, CommandTerminal], int]
