"""Ask before a command stops or deletes something."""

from cli.command import CommandError, ExitCode
from cli.terminal import CommandTerminal, harmless


def confirm(question: str, undone: str, terminal: CommandTerminal) -> None:
    """Raise CommandError, with `undone`, unless a person confirms."""
    if not terminal.stdin.isatty():
        raise CommandError(f"{undone}: confirm it in a terminal, or add --yes")
    terminal.stderr.write(f"{harmless(question)} [y/N] ")
    terminal.stderr.flush()
    if terminal.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandError(undone, ExitCode.WANTING)
