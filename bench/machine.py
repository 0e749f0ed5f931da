"""Describes the machine, and reads the usage of processes from /proc."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU time since the processes started, in seconds; resident memory now and at most, in MiB."""

    cpu_seconds: float
    resident_mib: float
    peak_mib: float


def usage(process_ids: Sequence[int], root: Path = Path("/proc")) -> Usage:
    """Adds up the usage of all processes, with their threads. Raises ProcessLookupError."""
    each = [_usage_of(root / str(process_id)) for process_id in process_ids]
    return Usage(
        sum(one.cpu_seconds for one in each),
        sum(one.resident_mib for one in each),
        sum(one.peak_mib for one in each),
    )


class CpuSpent:
    """`with CpuSpent(process_ids) as spent:` counts the CPU `seconds` of processes inside."""

    def __init__(self, process_ids: Sequence[int]) -> None:
        self._process_ids = process_ids
        self.seconds = 0.0

    def __enter__(self) -> Self:
        self.seconds = -usage(self._process_ids).cpu_seconds
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.seconds += usage(self._process_ids).cpu_seconds


def _usage_of(folder: Path) -> Usage:
    try:
        stat = (folder / "stat").read_text()
        status = (folder / "status").read_text()
    except FileNotFoundError:
        raise ProcessLookupError(f"process {folder.name} is not there any more") from None
    # The second field is the program's name in parentheses and may hold anything.
    fields = stat.rpartition(")")[2].split()
    user, system = int(fields[11]), int(fields[12])
    sizes = dict(line.split(":", 1) for line in status.splitlines())
    # A process that has ended but was not waited for has no memory.
    resident, peak = (int(sizes.get(name, "0").split()[0]) for name in ("VmRSS", "VmHWM"))
    return Usage((user + system) / _TICKS_PER_SECOND, resident / 1024, peak / 1024)


def description() -> str:
    """Returns a line like `2 cores (AMD EPYC …), 24 GiB, Linux 6.18, Python 3.11.7`."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3
    model = _cpu_model(Path("/proc/cpuinfo").read_text())
    kernel = ".".join(platform.release().split(".")[:2])
    return (
        f"{cores} core{'s' if cores != 1 else ''}{f' ({model})' if model else ''},"
        f" {memory:.0f} GiB, Linux {kernel}, Python {platform.python_version()}"
    )


def _cpu_model(cpuinfo: str) -> str:
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return ""
