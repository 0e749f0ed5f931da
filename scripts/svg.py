"""The parts that all drawn pictures of figures share. Pure."""

from collections.abc import Iterable
from typing import Final
from xml.sax.saxutils import escape

COLOURS: Final = ("#2563eb", "#9ca3af", "#d4a72c")
"""This operator, the Go operator, the platform."""
LINE: Final = 15
"""The height of a line of text."""


def document(width: int, height: int, parts: Iterable[str]) -> str:
    """Return a whole SVG file with a white background."""
    style = "font-family:monospace;font-size:11px;fill:#1f2937"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' style="{style}"><rect width="100%" height="100%" fill="white"/>'
        + "\n".join(["", *parts])
        + "\n</svg>\n"
    )


def text(x: int, y: int, words: str, style: str = "") -> str:
    """Return an element that shows `words`; `style` is CSS."""
    styled = f' style="{style}"' if style else ""
    return f'<text x="{x}" y="{y}"{styled}>{escape(words)}</text>'
