"""Where the command reads and writes: a person's terminal, a pipe, or a test."""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment

# Lines that go to a program are not folded: it may look for what stands in one.
WIDE = 10_000
# Whoever may write an object could else write anywhere on the screen of whoever looks at it.
_CONTROL: Final = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)))
del _CONTROL[ord("\n")], _CONTROL[ord("\t")]


def harmless(text: str) -> str:
    """The text without characters that a terminal takes for commands (escape sequences)."""
    return text.translate(_CONTROL)


@dataclass(frozen=True, slots=True)
class Terminal:
    """The three streams and the environment. rich is imported when something is drawn with it."""

    stdin: TextIO = field(default_factory=lambda: sys.stdin)
    stdout: TextIO = field(default_factory=lambda: sys.stdout)
    stderr: TextIO = field(default_factory=lambda: sys.stderr)
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def console(self) -> "Console":
        """Standard output, with colour only where a person looks, in the width of the window.

        COLUMNS sets the width anywhere; NO_COLOR takes the colour away.
        """
        return self._console(self.stdout)

    def write(self, text: str) -> None:
        """Text as it is, to standard output."""
        self.stdout.write(text)

    def warn(self, text: str) -> None:
        """A line to standard error that begins with "warning:"."""
        self.stderr.write(f"warning: {harmless(text)}\n")

    @contextmanager
    def progress(self, text: str) -> Iterator[None]:
        """Says what is going on until the block ends. Only a person sees it; it leaves no trace."""
        if not self.stderr.isatty():
            yield
            return
        with self._console(self.stderr).status(text):
            yield

    def _console(self, stream: TextIO) -> "Console":
        from rich.console import Console
        from rich.segment import Segment

        class HarmlessConsole(Console):
            """rich styles text, and lets the escape sequences in it pass."""

            def render(self, *arguments: Any, **options: Any) -> "Iterable[Segment]":
                for text, style, control in super().render(*arguments, **options):
                    yield Segment(text if control else harmless(text), style, control)

        columns = self.environment.get("COLUMNS", "")
        width = int(columns) if columns.isdigit() and int(columns) else None
        if width is None and not stream.isatty():
            width = WIDE
        return HarmlessConsole(
            file=stream,
            width=width,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=False,
            no_color="NO_COLOR" in self.environment or not stream.isatty(),
            _environ=dict(self.environment),
        )
