"""Measures the CPU time of this process and all processes below it, running or ended."""

import os
from collections.abc import Iterator
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


class CpuClock:
    """Gives the CPU time since the last call, in seconds.

    A program that runs for a whole session, such as etcd, counts where it computes. If only ended
    programs counted, the file during whose last test a cluster stops would seem to use all of it.
    """

    def __init__(self, pid: int | None = None, proc: Path = _PROC) -> None:
        self._pid = os.getpid() if pid is None else pid
        self._proc = proc
        self._before = 0.0

    def since_last(self) -> float:
        """Return the CPU time since the last call; the first call returns all since the start."""
        now = sum(_used(self._proc / str(pid)) for pid in self._processes(self._pid))
        spent, self._before = now - self._before, now
        # A process that ended but is not waited for yet, or that lost its parent, is missing.
        return max(spent, 0.0)

    def _processes(self, pid: int) -> Iterator[int]:
        yield pid
        for thread in _entries(self._proc / str(pid) / "task"):
            for child in _text(thread / "children").split():
                yield from self._processes(int(child))


def _used(process: Path) -> float:
    """Return the seconds of a process and of its ended children; 0 if it is gone."""
    # The second field is the program's name in parentheses and may contain spaces.
    fields = _text(process / "stat").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS_PER_SECOND


def _entries(folder: Path) -> list[Path]:
    try:
        return [*folder.iterdir()]
    except OSError:
        return []


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
