"""The command's input and output: a terminal, a pipe, or a test."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Final, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

# Lines for a program are not folded: it may search for a text within one line.
WIDE = 10_000
# Otherwise a user could put escape sequences into an object, for the terminal of another user.
_CONTROL: Final = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)))
del _CONTROL[ord("\n")], _CONTROL[ord("\t")]
# Blanks and the ends of colours before a line's end.
_TRAILING: Final = re.compile(r"(?: |\x1b\[[0-9;]*m)+(?=\n)")


def harmless(text: str) -> str:
    """Remove the control characters, with which escape sequences begin."""
    if text.isprintable():  # nearly all are, and `translate` takes ten times as long
        return text
    return text.translate(_CONTROL)


class _WithoutTrailingBlanks:
    """A stream without blanks at the ends of lines, with which rich fills its tables."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(_TRAILING.sub(lambda found: found[0].replace(" ", ""), text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@dataclass(frozen=True, slots=True)
class CommandTerminal:
    """The three streams and the environment. rich is imported only for a console."""

    stdin: TextIO = field(default_factory=lambda: sys.stdin)
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    stderr: TextIO = field(default_factory=lambda: sys.stderr)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def console(self) -> "Console":
        """Return a console on standard output, with colour and the window's width on a terminal.

        The environment variable COLUMNS always sets the width; NO_COLOR removes the colour.
        """
        return self._console(self.stdout)

    def width(self) -> int | None:
        """Return the columns of standard output, None for a program: the lines may be long.

        The environment variable COLUMNS always sets the width.
        """
        columns = self.environment.get("COLUMNS", "")
        if columns.isdigit() and int(columns):
            return int(columns)
        if not self.stdout.isatty():
            return None
        try:
            return os.get_terminal_size(self.stdout.fileno()).columns or None
        except OSError:  # a terminal without a size
            return 80

    def write(self, text: str) -> None:
        self.stdout.write(text)

    def write_data(self, report: object, output: str) -> None:
        from cli.reports import as_json, to_text

        self.stdout.write(to_text(as_json(report), output))

    def warn(self, text: str) -> None:
        """Write a line to standard error that begins with "warning:"."""
        self.stderr.write(f"warning: {harmless(text)}\n")

    @contextmanager
    def progress(self, text: str) -> Iterator[None]:
        """Show the text until the block ends, on a terminal only, and then remove it."""
        if not self.stderr.isatty():
            yield
            return
        with self._console(self.stderr).status(text):
            yield

    def _console(self, stream: TextIO) -> "Console":
        from rich.console import Console
        from rich.segment import Segment

        class HarmlessConsole(Console):
            """Remove escape sequences from texts, which rich itself does not."""

            def render(self, *arguments: Any, **options: Any) -> "Iterable[Segment]":
                for text, style, control in super().render(*arguments, **options):
                    yield Segment(text if control else harmless(text), style, control)

        columns = self.environment.get("COLUMNS", "")
        width = int(columns) if columns.isdigit() and int(columns) else None
        if width is None and not stream.isatty():
            width = WIDE
        return HarmlessConsole(
            file=cast("IO[str]", _WithoutTrailingBlanks(stream)),
            width=width,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=False,
            no_color="NO_COLOR" in self.environment or not stream.isatty(),
            _environ=dict(self.environment),
        )
