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
_LINE: Final = re.compile(rf"\s*+(?P<command>{_PART}(?:\s*+{_PART})*+)?\s*+(?:\\|#.*)?")


class PartialLine(ValueError):
    """A line has a here-document, or quotes or brackets that end in another line."""


def one_command(program: str) -> str:
    """Return one command: a line break becomes a continuation. Raises PartialLine."""
    found = [_LINE.fullmatch(line) for line in program.replace("\r\n", "\n").split("\n")]
    if None in found:
        raise PartialLine
    return " \\\n  ".join(each["command"] for each in found if each and each["command"])
