"""Keys that stand twice in one JSON object. Pure.

The decoder keeps the last one without a word. Another reader may keep the first, so a webhook could
approve one object and the cluster get another. The API server sends no such text; whoever else
reaches our port might.
"""

import re
from itertools import islice
from typing import Final

import orjson

# Go's encoder writes these as escapes, ours does not.
_HTML_ESCAPES: Final = ((b"\\u0026", b"&"), (b"\\u003c", b"<"), (b"\\u003e", b">"))
_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_TOKEN: Final = re.compile(rb'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")\s*(?P<colon>:)?|[{}\[\],]')
_MOST_TOKENS: Final = 100_000  # about a tenth of a second


def has_duplicate_keys(text: bytes, encoded: bytes) -> bool:
    """Whether decoding `text` lost members of some object.

    `text` is JSON that could be decoded, `encoded` what came of it, encoded again without blanks.
    Where both are the same nothing was lost: so is all that the API server sends.
    """
    if text.startswith(encoded):  # only blanks can follow a whole JSON value
        return False
    if b"\\u00" in text:
        # Where the backslash was itself escaped this makes what is no JSON, so not `encoded`.
        plain = text
        for escape, character in _HTML_ESCAPES:
            plain = plain.replace(escape, character)
        if plain.startswith(encoded):
            return False
    return _members(text) != _members(encoded)


def _members(text: bytes) -> int:
    """How many members all objects of a JSON text have: the colons outside of strings."""
    return _STRING.sub(b"", text).count(b":")


def first_duplicate_key(text: bytes) -> tuple[str | int, ...]:
    """The way to the first key that stands twice: keys and indices.

    `text` is JSON that could be decoded. Slow, for messages only, and so only tried for the first
    100,000 strings, brackets and commas; () where none is found among them.
    """
    way: list[str | int] = []
    seen: list[set[str]] = []  # the keys of each open object; empty for an array
    for token in islice(_TOKEN.finditer(text), _MOST_TOKENS):
        match text[token.start()]:
            case 0x7B | 0x5B:  # { [
                way.append("" if token[0] == b"{" else 0)
                seen.append(set())
            case 0x7D | 0x5D:  # } ]
                way.pop()
                seen.pop()
            case 0x2C:  # ,
                if isinstance(way[-1], int):
                    way[-1] += 1
            case _ if token["colon"]:
                way[-1] = key = orjson.loads(token["string"])
                if key in seen[-1]:
                    return tuple(way)
                seen[-1].add(key)
    return ()
