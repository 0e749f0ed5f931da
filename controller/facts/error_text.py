"""Text of users' programs, made fit for a status: clean and bounded. Pure."""

import re
from typing import Final

MOST_BYTES: Final = 2048  # of a message in a status
# How much of a long text is looked at: cleaning takes time, and anybody may write a status.
_MOST_CHARACTERS: Final = 4 * MOST_BYTES
_CUT: Final = "\n…\n"

_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")  # colours of a terminal
_LINE_ENDS: Final = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Control characters but tab and line end, marks that reverse the order of writing, and halves of
# characters, which are no valid UTF-8.
_UNFIT: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def clean(text: str) -> str:
    """Return `text` without control characters, save tabs and line ends. Valid UTF-8."""
    ended = _LINE_ENDS.sub("\n", _ESCAPES.sub("", text))
    return _UNFIT.sub("", ended).strip("\n")


def last_part(text: str, limit: int = MOST_BYTES) -> str:
    """Return the cleaned end of a log, in at most `limit` bytes."""
    return _last_bytes(clean(text[-_MOST_CHARACTERS:]), limit)


def both_ends(text: str, limit: int = MOST_BYTES) -> str:
    """Return a cleaned text in at most `limit` bytes: a quarter from its head, the rest its tail.

    A traceback says at its end what happened.
    """
    head, tail = clean(text[:_MOST_CHARACTERS]), clean(text[-_MOST_CHARACTERS:])
    if len(text) <= _MOST_CHARACTERS and len(head.encode()) <= limit:
        return head
    room = limit - len(_CUT.encode())
    kept = head.encode()[: room // 4].decode(errors="ignore")
    return kept + _CUT + _last_bytes(tail, room - room // 4)


def _last_bytes(text: str, limit: int) -> str:
    return text.encode()[-limit:].decode(errors="ignore")


# No blank matches a line end: else the search takes 150 ms for a log of empty lines.
_EXCEPTION: Final = re.compile(
    r"^[ \t]*(?:\[rank\d+\]: ?)?[\w.]*(?:Error|Exception)\b", re.MULTILINE
)


def names_an_error(text: str) -> bool:
    """Return True if a line of a log's end names an exception, as Python prints them."""
    return _EXCEPTION.search(text) is not None
