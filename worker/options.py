"""The recorder's command line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = """\
usage: python -m worker [OPTIONS] -- COMMAND [ARGUMENT ...]

Runs COMMAND. If it fails, its earliest failure is recorded in the container's termination message,
and in the store that AW_ERROR_URI names.

  --recoverable-exit-codes=N,N   with these exit codes a retry can help
  --exit-code=root|child         exit with the first failure's code (root, the default), or with
                                 COMMAND's own: torchrun's is always 1
  --no-hook                      do not record uncaught exceptions of Python processes
"""


class BadOption(ValueError):
    """An option that the recorder does not know, or a value that it cannot read."""


@dataclass(frozen=True)
class Options:
    """The options of the command line. `root_code`: exit with the first failure's code."""

    recoverable_codes: frozenset[int] = frozenset()
    root_code: bool = True
    hook: bool = True


def split(arguments: Sequence[str]) -> tuple[Options, list[str]]:
    """Return the options and the command. Raises BadOption."""
    if "--" not in arguments or arguments[-1] == "--":
        raise BadOption("no command: write it after `--`")
    end = list(arguments).index("--")
    options = Options()
    for argument in arguments[:end]:
        options = _with(options, argument)
    return options, list(arguments[end + 1 :])


def _with(options: Options, argument: str) -> Options:
    name, _, value = argument.partition("=")
    if argument == "--no-hook":
        return replace(options, hook=False)
    if name == "--exit-code" and value in ("root", "child"):
        return replace(options, root_code=value == "root")
    if name == "--recoverable-exit-codes":
        codes = value.split(",")
        if all(code.isdecimal() and 0 < int(code) < 256 for code in codes):
            return replace(options, recoverable_codes=frozenset(map(int, codes)))
    raise BadOption(f"{argument} is not understood")
