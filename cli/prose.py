"""Sentences on a console: folded at the window's width, with their commands whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions
from rich.text import Text

from cli.columns import cells_of
from cli.folding import folded

_LEAST: Final = 20  # narrower windows get longer lines


@dataclass(frozen=True, slots=True)
class Prose:
    """A text for a console. Print it with `crop=False`: a command may be longer than a line.

    `label`: comes before the first line. `indent`: the cells before each line.
    """

    text: str
    style: str = ""
    indent: int = 0
    label: str = ""
    label_style: str = ""

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[Text]:
        width = max(_LEAST, options.max_width - self.indent)
        label = self.label + " " * (self.indent - cells_of(self.label))
        before = (label, self.label_style)
        for line in folded(self.text, width, cells_of(label) - self.indent):
            yield Text.assemble(before, (line, self.style), no_wrap=True, overflow="ignore")
            before = (" " * self.indent, "")
