"""Measures the CPU time of this process and all processes below it, running or ended."""

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")
_SHOWN_SECONDS = 1.0


class CpuClock:
    """Gives the CPU time since the last call, in seconds.

    A program that runs for a whole session, such as etcd, counts where it computes. If only ended
    programs counted, the file during whose last test a cluster stops would seem to use all of it.
    """

    def __init__(self, pid: int | None = None, proc: Path = _PROC) -> None:
        self._pid = os.getpid() if pid is None else pid
        self._proc = proc
        self._total = 0.0
        self._last_seen: dict[tuple[int, str], float] = {}

    def since_last(self) -> float:
        """Return the CPU time since the last call; the first call returns all since the start."""
        total = 0.0
        for pid in self._processes(self._pid):
            name, own, ended_children = _read(self._proc / str(pid))
            self._last_seen[pid, name] = own
            total += own + ended_children
        spent, self._total = total - self._total, total
        # A process that ended but is not waited for yet, or that lost its parent, is missing.
        return max(spent, 0.0)

    def by_program(self) -> str:
        """Return the programs that used a second or more, until the last call: `etcd 12 s, …`.

        The rest are programs that began and ended between two calls.
        """
        seconds: defaultdict[str, float] = defaultdict(float)
        for (_, name), own in self._last_seen.items():
            seconds[name] += own
        seconds["others"] = self._total - sum(seconds.values())
        ordered = sorted(seconds.items(), key=lambda item: -item[1])
        return ", ".join(f"{name} {used:.0f} s" for name, used in ordered if used >= _SHOWN_SECONDS)

    def _processes(self, pid: int) -> Iterator[int]:
        yield pid
        for thread in _entries(self._proc / str(pid) / "task"):
            for child in _text(thread / "children").split():
                yield from self._processes(int(child))


def _read(process: Path) -> tuple[str, float, float]:
    """Return a process's name, its seconds and those of its ended children; 0 if it is gone."""
    # The second field is the program's name in parentheses and may contain spaces.
    before, _, after = _text(process / "stat").rpartition(")")
    times = [int(each) / _TICKS_PER_SECOND for each in after.split()[11:15]]
    name = before.partition("(")[2]
    if name.startswith("python"):
        name = _module(process) or name
    return name, sum(times[:2]), sum(times[2:])


def _module(process: Path) -> str:
    """Return the module that Python runs, as in `python -m controller`; empty without one."""
    _, _, after = _text(process / "cmdline").partition("\0-m\0")
    return after.partition("\0")[0]


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
