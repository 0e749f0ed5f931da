"""Merge the lines of several logs by their times. Pure."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from cli.logs.lines import LogLine

T = TypeVar("T")


@dataclass(frozen=True, slots=True, order=True)
class _Waiting:
    moment: str
    source: int
    number: int
    line: LogLine
    since: float


class TimeMerge(Generic[T]):
    """Release a line once every open log has shown a later one, so that the order is exact.

    `patience`: the seconds after which a line is released in any case, because a log that grows may
    be silent. None: never, for logs that end.
    """

    def __init__(self, patience: float | None) -> None:
        self._patience = patience
        self._heap: list[_Waiting] = []
        self._sources: list[T] = []
        self._lines: list[int] = []  # by source: its lines in the heap
        self._latest: list[str] = []  # by source: a clock may go back, its lines stay in order
        self._silent: set[int] = set()  # the open sources without a line in the heap
        self._open: set[int] = set()
        self._number = 0

    def open(self, source: T) -> int:
        """Add a log; return its number for the other methods."""
        number = len(self._sources)
        self._sources.append(source)
        self._lines.append(0)
        self._latest.append("")
        self._open.add(number)
        self._silent.add(number)
        return number

    def close(self, source: int) -> None:
        """Mark the end of a log."""
        self._open.discard(source)
        self._silent.discard(source)

    def add(self, source: int, line: LogLine, now: float) -> None:
        self._number += 1
        self._latest[source] = moment = max(self._latest[source], line.moment)
        heapq.heappush(self._heap, _Waiting(moment, source, self._number, line, now))
        self._lines[source] += 1
        self._silent.discard(source)

    @property
    def is_over(self) -> bool:
        """True if all logs have ended and all lines are released."""
        return not self._open and not self._heap

    @property
    def open_sources(self) -> int:
        return len(self._open)

    def ready(self, now: float) -> Iterator[tuple[int, T, LogLine]]:
        """Yield the lines that may be printed, with the number of their log and the log."""
        while self._heap and (not self._silent or self._is_late(now)):
            found = heapq.heappop(self._heap)
            self._lines[found.source] -= 1
            if not self._lines[found.source] and found.source in self._open:
                self._silent.add(found.source)
            yield found.source, self._sources[found.source], found.line

    def wait(self, now: float) -> float | None:
        """Return the seconds until the next line may be printed without another event."""
        if self._patience is None or not self._heap:
            return None
        return max(0.0, self._heap[0].since + self._patience - now)

    def _is_late(self, now: float) -> bool:
        return self._patience is not None and self._heap[0].since + self._patience <= now
