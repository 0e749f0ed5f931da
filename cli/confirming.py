"""Ask before a command stops or deletes something."""

import signal

from cli.command import CommandError, ExitCode
from cli.terminal import CommandTerminal, harmless


def confirm(question: str, undone: str, terminal: CommandTerminal) -> None:
    """Raise CommandError, with `undone`, unless a person confirms."""
    if not terminal.stdin.isatty():
        raise CommandError(f"{undone}: confirm it in a terminal, or add --yes")
    terminal.stderr.write(f"{harmless(question)} [y/N] ")
    terminal.stderr.flush()
    if typed(terminal).lower() not in ("y", "yes"):
        raise CommandError(undone, ExitCode.WANTING)


def typed(terminal: CommandTerminal) -> str:
    """Read a line. The first Ctrl-C ends the command: asyncio's handler would only note it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return terminal.stdin.readline().strip()
    finally:
        signal.signal(signal.SIGINT, before)
