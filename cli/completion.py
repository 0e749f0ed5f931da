"""Completion of `kubectl appwrapper`: kubectl asks a program of this name for the next word."""

import sys
from collections.abc import Sequence

from argcomplete.finders import CompletionFinder

from cli.main import COMMANDS, build_parser

# kubectl's directive "nothing special": files are offered where nothing else is.
DEFAULT_DIRECTIVE = ":0"


def for_kubectl() -> None:
    """Entry point of kubectl_complete-appwrapper: a line each, then the directive."""
    sys.stdout.write("\n".join([*proposals(sys.argv[1:]), DEFAULT_DIRECTIVE]) + "\n")


def proposals(words: Sequence[str]) -> list[str]:
    """What the last of the words, perhaps empty, may become."""
    *before, last = words or [""]
    finder = CompletionFinder(build_parser(COMMANDS), always_complete_options="long")
    # What it offers in public reads the shell's variables or readline's buffer, not arguments.
    found: list[str] = finder._get_completions(  # type: ignore[no-untyped-call]
        ["appwrapper", *before], last, "", None
    )
    return sorted(each.strip() for each in found)
