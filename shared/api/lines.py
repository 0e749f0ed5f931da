"""Make text of other programs fit for a condition, a terminal and a log. Pure."""

from typing import Final

_MORE: Final = "…"


def one_line(text: str, longest: int) -> str:
    """Return foreign text as a printable line of at most that many characters and `…`."""
    line = " ".join(text[: 2 * longest].split())
    line = "".join(each if each.isprintable() else "?" for each in line)
    return line if len(line) <= longest else f"{line[:longest]}…"


def clipped(text: str, limit: int) -> str:
    """Return at most `limit` bytes of UTF-8; a cut text ends with `…`."""
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    return encoded[: max(0, limit - len(_MORE.encode()))].decode(errors="ignore") + _MORE
