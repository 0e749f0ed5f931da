"""The result of `hold` or `release` for each AppWrapper."""

from collections.abc import Iterable
from dataclasses import dataclass

from cli.command import ExitCode
from cli.terminal import CommandTerminal, harmless


@dataclass(frozen=True, slots=True)
class Result:
    """One line for the user. `fine`: the AppWrapper is as the user wants it."""

    text: str
    fine: bool = True


def write(results: Iterable[Result], terminal: CommandTerminal) -> ExitCode:
    """Print the results, the refusals as warnings. Return the exit code."""
    code = ExitCode.FINE
    for each in results:
        if each.fine:
            terminal.write(f"{harmless(each.text)}\n")
        else:
            terminal.warn(each.text)
            code = ExitCode.WANTING
    return code
