"""The node's cgroups: one directory in every hierarchy, made first and removed last.

Its name holds the slot, and the id and start time of the process that made it. So a later run
recognizes the directory of a killed one.
"""

import os
import re
import select
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from localcluster.machine.slowness import stretched

_ENDED = ("Z", "X")  # zombie, dead
_NAME = re.compile(r"awnode\d+-(\d+)-(\d+)")
_MOUNTS = Path("/proc/self/mountinfo")
_COPIED = ("cpuset.cpus", "cpuset.mems")  # empty in a new cpuset of version 1
_RETRY_SECONDS = 0.05
_RETRIES = round(stretched(20.0) / _RETRY_SECONDS)


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One mounted cgroup hierarchy, of version 1 or 2."""

    mount: Path
    version: int


def name_of(slot: int, pid: int | None = None) -> str:
    """Returns the directory name for `slot` and process `pid`, by default this process."""
    pid = pid or os.getpid()
    return f"awnode{slot}-{pid}-{_started(pid)}"


def hierarchies(mounts: str | None = None) -> list[Hierarchy]:
    """Returns the mounted hierarchies, each once. `mounts` has the form of /proc/self/mountinfo."""
    text = _MOUNTS.read_text() if mounts is None else mounts
    found: dict[Path, Hierarchy] = {}
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        kind = after.split()[0]
        if kind in ("cgroup", "cgroup2"):
            mount = Path(before.split()[4])
            found[mount] = Hierarchy(mount, 1 if kind == "cgroup" else 2)
    return list(found.values())


def create(name: str, where: Sequence[Hierarchy] | None = None) -> None:
    """Makes the directory in every hierarchy, ready for children. Raises OSError."""
    for hierarchy in hierarchies() if where is None else where:
        directory = hierarchy.mount / name
        if hierarchy.version == 2:
            _delegate(hierarchy.mount)
        directory.mkdir()
        if hierarchy.version == 1:
            _inherit(directory)


def remove(name: str, where: Sequence[Hierarchy] | None = None) -> None:
    """Removes the directory and all below it, everywhere. Its processes must be ending.

    Blocks for up to twenty seconds while the kernel ends them. A later sweep removes any remains.
    """
    directories = [each.mount / name for each in (hierarchies() if where is None else where)]
    for _ in range(_RETRIES):
        directories = [each for each in directories if not _removed(each)]
        if not directories:
            return
        select.select([], [], [], _RETRY_SECONDS)


def sweep(where: Sequence[Hierarchy] | None = None) -> None:
    """Removes the directories of ended processes."""
    where = hierarchies() if where is None else where
    for name in sorted({path.name for each in where for path in each.mount.glob("awnode*-*-*")}):
        match = _NAME.fullmatch(name)
        if match is not None and _started(int(match[1])) != int(match[2]):
            remove(name, where)


def _started(pid: int) -> int:
    """Returns a process's start, in clock ticks since boot; 0 if no such process lives.

    An ended process exists until its parent has waited for it, which may take long.
    """
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    # The second field is the program's name in parentheses and may contain any character.
    state, *others = status.rpartition(")")[2].split()
    return 0 if state in _ENDED else int(others[18])


def _delegate(root: Path) -> None:
    """Version 2: lets children of the root have its controllers."""
    offered = set((root / "cgroup.controllers").read_text().split())
    handed_on = root / "cgroup.subtree_control"
    for controller in sorted(offered - set(handed_on.read_text().split())):
        handed_on.write_text(f"+{controller}")


def _inherit(directory: Path) -> None:
    for file in _COPIED:
        own = directory / file
        if own.exists() and not own.read_text().strip():
            own.write_text((directory.parent / file).read_text())


def _removed(directory: Path) -> bool:
    """Tries once, the deepest directory first."""
    try:
        for each in _deepest_first(directory):
            each.rmdir()
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return not directory.exists()


def _deepest_first(directory: Path) -> Iterator[Path]:
    for folder, _, _ in os.walk(directory, topdown=False):
        yield Path(folder)
