"""Copy the text of an object, comments included, to another place. Pure.

YAML is copied as text, so that comments, blank lines, quotes, block scalars and the spelling of
numbers do not change. The caller must parse the copy and compare its value: a copy may lack the
anchor of an alias. If the values differ, the caller writes the value instead.
"""

import re
from collections.abc import Sequence
from typing import Final

from cli.manifests.yaml_text import ManifestDocument, Span

# A line in YAML. str.splitlines also splits at other characters.
_LINE: Final = re.compile("[^\r\n\x85\u2028\u2029]*(?:\r\n|[\r\n\x85\u2028\u2029]|$)")
_COMMENT_OR_BLANK: Final = re.compile(r"\s*(#.*)?", re.DOTALL)
_MARKER: Final = re.compile(r"---\s+(?P<comment>#.*)", re.DOTALL)


def excerpts(text: str, documents: Sequence[ManifestDocument], wanted: Sequence[Span]) -> list[str]:
    """Return the text of each span, moved to the left margin, with the comments before it.

    `wanted` is in the order of the text. Comments after a document's last span belong to that span,
    so that no comment is lost.
    """
    # The lines as ruamel.yaml counts them. Line ends of Windows become "\n".
    lines = re.findall("[^\n]*\n|[^\n]+", text.replace("\r\n", "\n").replace("\r", "\n"))
    ends = [document.end for document in documents]
    found: list[str] = []
    begin = 0
    for index, span in enumerate(wanted):
        following = wanted[index + 1].first if index + 1 < len(wanted) else None
        document_end = next((end for end in ends if end > span.last), len(lines))
        tail_end = len(lines) if following is None else min(document_end, following)
        if following is not None and following < document_end:
            tail_end = span.last + 1  # the comments above the next item of a List belong to it
        found.append(_excerpt(lines, begin, span, tail_end))
        begin = max(tail_end, span.last + 1)
    return found


def _excerpt(lines: list[str], begin: int, span: Span, tail_end: int) -> str:
    above = _comments(lines[begin : span.first], span.column)
    below = _comments(lines[span.last + 1 : tail_end], span.column)
    body = lines[span.first : span.last + 1]
    if span.end is not None:
        rest = body[-1][span.end :]
        if not _COMMENT_OR_BLANK.fullmatch(rest):
            body[-1] = body[-1][: span.end] + "\n"
    body[0] = " " * span.column + body[0][span.column :]
    moved = [_dedented(line, span.column) for line in body]
    if not moved[-1].endswith("\n"):
        moved[-1] += "\n"
    return "".join((*above, *moved, *below))


def _comments(lines: list[str], column: int) -> list[str]:
    """Return comments and the blank lines between them, without blank lines around them."""
    found = []
    for line in lines:
        marked = _MARKER.fullmatch(line)
        text = marked["comment"] if marked else line
        if _COMMENT_OR_BLANK.fullmatch(text):
            found.append(_dedented(text, column) if text.strip() else "\n")
    while found and not found[0].strip():
        del found[0]
    while found and not found[-1].strip():
        del found[-1]
    return [each if each.endswith("\n") else each + "\n" for each in found]


def _dedented(line: str, columns: int) -> str:
    blank = len(line) - len(line.lstrip(" "))
    return line[min(blank, columns) :]


def indented(text: str, columns: int) -> str:
    """Indent the text. Empty lines stay empty."""
    return "".join(
        line if line == "\n" else " " * columns + line for line in _LINE.findall(text) if line
    )
