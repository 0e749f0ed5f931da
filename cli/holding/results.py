"""The result of `hold` or `release` for each AppWrapper."""

from collections.abc import Awaitable, Iterable
from dataclasses import dataclass

from cli.command import CommandError, ExitCode
from cli.terminal import CommandTerminal, harmless
from shared.kube.client import KubeError


@dataclass(frozen=True, slots=True)
class Result:
    """One line for the user. `fine`: the AppWrapper is as the user wants it."""

    text: str
    fine: bool = True


async def result_of(name: str, change: Awaitable[Result]) -> Result:
    """Wait for the change. Return an error as its result: it must not hide the others."""
    try:
        return await change
    except (CommandError, KubeError) as error:
        return Result(f"{name}: {error}", False)


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
