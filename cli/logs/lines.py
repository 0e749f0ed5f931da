"""Read, continue and print the lines of a log. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

# A longer line is cut into several: a program may print megabytes without a line end.
LONGEST_LINE: Final = 64 << 10
_TIME: Final = re.compile(
    r"(?P<second>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d{1,9}))?"
    r"(?P<zone>Z|[-+]\d\d:\d\d)"
)
# A program's colours and cursor movements, whole: without its first character such a sequence
# would be text.
_SEQUENCE: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"
)
# The colours of terminals that are readable on dark and on bright.
_COLOURS: Final = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line. `moment`: UTC with nine digits, so that it compares as text; "" if it has none."""

    moment: str
    text: str


def log_line(raw: bytes) -> LogLine:
    """Split a line of the kubelet into its time and its text."""
    first, _, rest = raw.decode("utf-8", "replace").partition(" ")
    moment = _moment(first)
    return LogLine(moment, rest if moment else raw.decode("utf-8", "replace"))


def _moment(text: str) -> str:
    found = _TIME.fullmatch(text)
    if found is None:
        return ""
    second, fraction = found["second"], (found["fraction"] or "").ljust(9, "0")
    if found["zone"] != "Z":  # the node's own time zone
        try:
            at = datetime.fromisoformat(second + found["zone"]).astimezone(UTC)
        except (ValueError, OverflowError):
            return ""
        second = at.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{second}.{fraction}Z"


class LogSplitter:
    """Cut bytes into lines of at most LONGEST_LINE, the same ones whatever the chunks are."""

    def __init__(self) -> None:
        self._begun = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that are complete."""
        self._begun += chunk
        *whole, rest = bytes(self._begun).split(b"\n")
        self._begun = bytearray()
        for line in whole:
            yield from _pieces(line) if line else (line,)
        while len(rest) > LONGEST_LINE:
            yield rest[:LONGEST_LINE]
            rest = rest[LONGEST_LINE:]
        self._begun += rest

    def rest(self) -> bytes:
        """Return the line without an end, with which a whole log may end."""
        return bytes(self._begun)


def _pieces(line: bytes) -> Iterator[bytes]:
    for start in range(0, len(line), LONGEST_LINE):
        yield line[start : start + LONGEST_LINE]


class ResumePoint:
    """The last line of a log that was read, from which another stream continues.

    The kubelet finds whole seconds only. So the new stream repeats lines, and `is_new` drops them.
    """

    def __init__(self) -> None:
        self._last = ""
        self._of_last = 0  # the lines with that time: a clock may be coarse
        self._repeated: int | None = None

    @property
    def since(self) -> str:
        """The time to continue from; "" before the first line."""
        return self._last

    def reconnect(self) -> None:
        """Expect the lines since `since` once more."""
        self._repeated = self._of_last if self._last else None

    def is_new(self, line: LogLine) -> bool:
        """True unless an earlier stream had the line."""
        if not line.moment:
            return True
        if self._repeated is not None:
            if line.moment < self._last:
                return False
            if line.moment == self._last and self._repeated:
                self._repeated -= 1
                return False
            self._repeated = None
        self._of_last = self._of_last + 1 if line.moment == self._last else 1
        self._last = line.moment
        return True


def shown(line: LogLine, *, timestamps: bool = False) -> str:
    """Return the line without a terminal's commands, and a progress bar's last text alone."""
    parts = [each for each in line.text.split("\r") if each]
    text = _SEQUENCE.sub("", parts[-1] if parts else "")
    return f"{line.moment} {text}" if timestamps and line.moment else text


def prefix(tag: str, width: int, colour: int | None) -> str:
    """Return the beginning of a pod's lines. `colour`: any number, None for none."""
    text = f"{tag:<{width}} | "
    if colour is None:
        return text
    return f"\x1b[{_COLOURS[colour % len(_COLOURS)]}m{text}\x1b[0m"
