"""JSON nested deeper than our decoder can follow, cut so that it can. Pure.

The API server stores thousands of levels in fields that it does not know. One such object must not
keep us from reading the others of its list, or the events after it.
"""

import re
from typing import Final

# Far above what any object needs, and far below what Python's own recursion stands.
DEEPEST: Final = 500
# Strings hold brackets that mean nothing.
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)


def cut(text: bytes) -> bytes:
    """The same JSON, with null in the place of every array and object below DEEPEST levels."""
    kept: list[bytes] = []
    depth = start = 0
    for token in _TOKEN.finditer(text):
        match token[0]:
            case b"[" | b"{":
                depth += 1
                if depth == DEEPEST + 1:
                    kept += [text[start : token.start()], b"null"]
            case b"]" | b"}":
                if depth == DEEPEST + 1:
                    start = token.end()
                depth -= 1
            case _:
                pass
    return b"".join([*kept, text[start:]])
