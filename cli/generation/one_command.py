"""Join the lines of a program into one shell command, without its comments."""

import re
from typing import Final

_CLOSES: Final = {'"': '"', "`": "`", "${": "}", "$(": ")", "(": ")"}
# Inside these a # begins no comment, and a ' no quoted text.
_TEXTS: Final = ('"', "`", "${")
_IN_TEXT: Final = re.compile(r"\\[\s\S]|\$[({]|[\s\S]")
_IN_WORD: Final = re.compile(rf"'[^']*'|<<<|<<|{_IN_TEXT.pattern}")
_BETWEEN_WORDS: Final = re.compile(rf"#[^\n]*|{_IN_WORD.pattern}")
_BLANKS: Final = (" ", "\t")
_END_WORDS: Final = ("\n", *_BLANKS, *";&|()<>", "<<<")
_CONTINUATION: Final = "\\\n"


class HereDocument(ValueError):
    """The program contains a here-document, whose lines cannot be joined."""


def one_command(program: str) -> str:
    """Return one command: a line break between two words becomes a continuation.

    Quotes, brackets and substitutions stay as they are. Raises HereDocument.
    """
    reader = _Reader()
    # The last line break ends the last line, and makes a continuation of a last backslash.
    text = program.replace("\r\n", "\n") + "\n"
    position = 0
    while match := reader.pattern().match(text, position):
        reader.read(match[0])
        position = match.end()
    return " \\\n  ".join(line for line in reader.lines() if line)


class _Reader:
    """Reads a program piece by piece, as the shell does."""

    def __init__(self) -> None:
        self._lines: list[list[str]] = [[]]
        self._opened: list[str] = []
        self._in_word = False

    def pattern(self) -> re.Pattern[str]:
        """Return the pattern of the next piece."""
        if self._opened and self._opened[-1] in _TEXTS:
            return _IN_TEXT
        return _IN_WORD if self._in_word else _BETWEEN_WORDS

    def lines(self) -> list[str]:
        """Return the lines. Pieces keep an escaped blank together, so that it stays at an end."""
        for line in self._lines:
            while line and line[-1] in _BLANKS:
                line.pop()
        return ["".join(line) for line in self._lines]

    def read(self, piece: str) -> None:
        """Add the next piece to its line."""
        if self._opened:
            self._lines[-1].append(piece)
        elif piece == "<<":
            raise HereDocument
        elif piece == _CONTINUATION and self._in_word:
            return  # the word goes on in the next line
        elif piece in ("\n", _CONTINUATION):
            self._lines.append([])
        elif not self._is_comment(piece) and (self._lines[-1] or piece not in _BLANKS):
            self._lines[-1].append(piece)
        self._follow(piece)

    def _is_comment(self, piece: str) -> bool:
        return piece[0] == "#" and self.pattern() is _BETWEEN_WORDS

    def _follow(self, piece: str) -> None:
        """Note which quotes and brackets are open, and whether the next piece is in a word."""
        within = self._opened[-1] if self._opened else ""
        if within and piece == _CLOSES[within]:
            self._opened.pop()
            self._in_word = within != "("
        elif piece in _CLOSES and not (piece == "(" and within in _TEXTS):
            self._opened.append(piece)
            self._in_word = False
        elif piece != _CONTINUATION and not self._is_comment(piece):
            self._in_word = piece not in _END_WORDS
