"""Clean and shorten texts of users' programs for a status. Pure."""

import re
from typing import Final

from controller.phases.root_cause import ONLY_REPORTS
from worker.error_texts import is_peer_loss

MOST_BYTES: Final = 2048  # of a message in a status
# Longer texts are cut before the cleaning, which takes time: any client may write a status.
_MOST_CHARACTERS: Final = 4 * MOST_BYTES
_CUT: Final = "\n…\n"

_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")  # colours of a terminal
_LINE_ENDS: Final = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Control characters except tab and line end, marks that reverse the order of writing, and halves
# of characters, which are no valid UTF-8.
_UNFIT: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def clean(text: str) -> str:
    """Return `text` as valid UTF-8, without control characters except tabs and line ends."""
    ended = _LINE_ENDS.sub("\n", _ESCAPES.sub("", text))
    return _UNFIT.sub("", ended).strip("\n")


def last_part(text: str, limit: int = MOST_BYTES) -> str:
    """Return the cleaned end of a log, in at most `limit` bytes."""
    return _last_bytes(clean(text[-_MOST_CHARACTERS:]), limit)


def both_ends(text: str, limit: int = MOST_BYTES) -> str:
    """Return a cleaned text in at most `limit` bytes: a quarter from its head, the rest its tail.

    A traceback names the error at its end.
    """
    head, tail = clean(text[:_MOST_CHARACTERS]), clean(text[-_MOST_CHARACTERS:])
    if len(text) <= _MOST_CHARACTERS and len(head.encode()) <= limit:
        return head
    room = limit - len(_CUT.encode())
    kept = head.encode()[: room // 4].decode(errors="ignore")
    return kept + _CUT + _last_bytes(tail, room - room // 4)


def _last_bytes(text: str, limit: int) -> str:
    return text.encode()[-limit:].decode(errors="ignore")


# `[ \t]`, not `\s`, which matches line ends: a log of empty lines would then take 150 ms.
_EXCEPTION: Final = re.compile(
    r"^[ \t]*(?:\[rank\d+\]: ?)?[\w.]*(?:Error|Exception)\b", re.MULTILINE
)


def names_an_error(text: str) -> bool:
    """True if a line of the log's end names an exception as Python prints it."""
    return _EXCEPTION.search(text) is not None


# The whole line of an exception, except a launcher's.
_RAISED: Final = re.compile(
    r"^[ \t]*(?:\[[\w ]{1,20}\]: ?){0,2}"
    rf"(?![\w.]*{ONLY_REPORTS})[\w.]*(?:Error|Exception)(?::[^\n]*)?$",
    re.MULTILINE,
)
_CHAIN: Final = re.compile(r"\b[Tt]he above exception\b")


def log_reports_lost_peer(log: str) -> bool:
    """True if a log's end reports that another worker left, and no other error.

    If the log has exceptions, only their lines count: torchrun warns at nearly every start that a
    "client socket has failed to connect", and the processes beside a failed one lose it.
    """
    if not is_peer_loss(log):
        return False
    raised = _RAISED.findall(log)
    if not raised or _CHAIN.search(log):
        return not raised or any(map(is_peer_loss, raised))
    return all(map(is_peer_loss, raised))
