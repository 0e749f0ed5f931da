"""Make text of other programs fit for a condition, a terminal and a log. Pure."""


def one_line(text: str, longest: int) -> str:
    """Return foreign text as a printable line of at most that many characters and `…`."""
    line = " ".join(text[: 2 * longest].split())
    line = "".join(each if each.isprintable() else "?" for each in line)
    return line if len(line) <= longest else f"{line[:longest]}…"
