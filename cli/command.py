"""What a command of `appwrapper` is, and how it says that it could not do its work."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from cli.terminal import Terminal


class ExitCode(IntEnum):
    """What pipelines read. Every command keeps to these."""

    FINE = 0
    WANTING = 1  # it was judged, and something is wrong with it
    UNABLE = 2  # it could not be done or told: wrong usage, an unreadable file, no cluster
    INTERRUPTED = 130  # by Ctrl-C, as shells count it
    PIPE_CLOSED = 141  # whoever read our output has gone, as shells count it


class CommandError(Exception):
    """The command ends here. The text says what is wrong and what to do, without "error:"."""

    def __init__(self, text: str, exit_code: ExitCode = ExitCode.UNABLE) -> None:
        super().__init__(text)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its own options, and what runs it.

    `run` returns the exit code. It may raise CommandError, KubeError (what the API server said) and
    OSError of a file that the user named; `cli.main` words them.
    """

    description: str  # what --help says below the usage
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Terminal], ExitCode]
