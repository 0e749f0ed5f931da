"""Complete `kubectl appwrapper`: kubectl runs kubectl_complete-appwrapper for proposals."""

import sys
from collections.abc import Sequence

from argcomplete.finders import CompletionFinder

from cli.main import ALIASES, COMMANDS, build_parser

# kubectl's default directive: the shell proposes files if there are no other proposals.
DEFAULT_DIRECTIVE = ":0"


def for_kubectl() -> None:
    """Entry point of kubectl_complete-appwrapper. Print one proposal a line, then the directive."""
    sys.stdout.write("\n".join([*proposals(sys.argv[1:]), DEFAULT_DIRECTIVE]) + "\n")


def proposals(words: Sequence[str]) -> list[str]:
    """Return the completions of the last argument, which may be empty."""
    *before, last = words or [""]
    finder = CompletionFinder(build_parser((*COMMANDS, *ALIASES)), always_complete_options="long")
    # argcomplete's public functions read the shell's variables or readline's buffer instead.
    found: list[str] = finder._get_completions(  # type: ignore[no-untyped-call]
        ["appwrapper", *before], last, "", None
    )
    return sorted(each.strip() for each in found)
