"""Join the lines of a program into one shell command, without its comments."""

import re
from typing import Final

# The parts of a line as the shell reads them. A # begins a comment only at the begin of a word.
_DOUBLE: Final = r'"(?:\\.|\$\([^()]*\)|[^"\\])*+"'
_QUOTED: Final = rf"'[^']*'|{_DOUBLE}|`(?:\\.|[^`\\])*+`"
_WITHIN: Final = rf"[^()'\"`]|{_QUOTED}"
_BRACKETS: Final = rf"\((?:{_WITHIN}|\((?:{_WITHIN})*+\))*+\)"
_PART: Final = (
    rf"(?:\\.#*|{_QUOTED}|\${_BRACKETS}#*|{_BRACKETS}|\$\{{[^}}]*\}}|<<<|<(?!<)"
    r"|(?<=[^\s;&|()<>])#|[^\s\\'\"`()<#])"
)
_LINE: Final = re.compile(
    rf"\s*+(?P<command>{_PART}(?:\s*+{_PART})*+)?(?P<goes_on>\\$)?\s*+(?:\\|#.*)?"
)


class PartialLine(ValueError):
    """A line has a here-document, or quotes or brackets that end in another line."""


def one_command(program: str) -> str:
    """Return one command: a line break becomes a continuation. Raises PartialLine."""
    commands: list[str] = []
    word_goes_on = False
    for line in program.replace("\r\n", "\n").split("\n"):
        found = _LINE.fullmatch(line)
        if found is None:
            raise PartialLine
        if command := found["command"]:
            begun = commands.pop() if word_goes_on and line.startswith(command) else ""
            commands.append(begun + command)
        word_goes_on = bool(command and found["goes_on"])
    return " \\\n  ".join(commands)
