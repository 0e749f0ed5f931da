"""Fold sentences at the window's width, but never the commands in them, which people copy."""

import re
from collections.abc import Iterator
from typing import Final

from cli.columns import cells_of

_VERBS: Final = {
    "appwrapper": "cancel|check|completion|explain|generate|history|hold|list|logs|nodes|pack"
    "|port-forward|release|resubmit|shell|submit|team|validate",
    "kubectl": "annotate|apply|create|delete|describe|edit|explain|get|label|logs|patch|replace",
    "python": "-m",
}
# An argument ends before a blank, and before punctuation that ends the command.
_ARGUMENT: Final = (
    r"""(?:'[^']*'|"[^"]*"|\$\([^)]*\)|[.,;:](?=[^\s)`])|\$(?!\()|[^\s`'"(),.;:$])+"""
)
_COMMAND: Final = "|".join(
    rf"{name} (?:{verbs})(?![\w-])(?: {_ARGUMENT})*" for name, verbs in _VERBS.items()
)
_WORD: Final = re.compile(rf"[(`]*(?:{_COMMAND})\S*|\S+")


def folded(text: str, width: int, used: int = 0) -> Iterator[str]:
    """Yield the lines. `used`: the width that something else takes on the first line.

    A word or command that is longer than the width is a line of its own.
    """
    for paragraph in text.splitlines() or [""]:
        line: list[str] = []
        for found in _WORD.finditer(paragraph):
            size = cells_of(found[0])
            if line and used + size > width:
                yield " ".join(line)
                line, used = [], 0
            line.append(found[0])
            used += size + 1
        yield " ".join(line)
        used = 0


def folded_paragraphs(text: str, width: int) -> str:
    """Fold the paragraphs of a help text. Lines that begin with a blank stay: they are examples."""
    parts: list[str] = []
    for line in text.splitlines():
        is_prose = line[:1].strip() != ""
        if is_prose and parts and parts[-1][:1].strip():
            parts[-1] += f" {line}"
        else:
            parts.append(line)
    lines = (each if each[:1] == " " else "\n".join(folded(each, width)) for each in parts)
    return "".join(f"{each}\n" for each in lines)
