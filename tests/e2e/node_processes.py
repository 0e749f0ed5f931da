"""The processes of containers, as the machine below the real node sees them.

Its own PID namespace hides them from nobody above it. A process belongs to the container that its
control group is named after.
"""

from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class NodeProcess:
    """`pid` counts on this machine."""

    pid: int

    @property
    def root(self) -> Path:
        """Its root directory, for whoever may look."""
        return self._folder / "root"

    @property
    def command(self) -> list[str]:
        """Its arguments, from the program on."""
        return (self._folder / "cmdline").read_text().split("\0")[:-1]

    @property
    def program(self) -> str:
        """The path of what it executes, below its own root."""
        return str((self._folder / "exe").readlink())

    def status(self) -> dict[str, str]:
        """/proc/PID/status, by its names."""
        lines = (self._folder / "status").read_text().splitlines()
        pairs = [line.split(":", 1) for line in lines]
        return {name: value.strip() for name, value in pairs}

    def mounts(self) -> dict[str, set[str]]:
        """Mount point -> the options of the mount, and `rw` or `ro` of what is mounted."""
        found: dict[str, set[str]] = {}
        for line in (self._folder / "mountinfo").read_text().splitlines():
            fields = line.split()
            found[fields[4]] = set(fields[5].split(","))
        return found

    @property
    def _folder(self) -> Path:
        return _PROC / str(self.pid)


def processes_of(container: str) -> list[NodeProcess]:
    """All processes of a container, by the runtime's name of it; the first one first."""
    found: list[int] = []
    for each in _PROC.iterdir():
        if not each.name.isdigit():
            continue
        try:
            groups = (each / "cgroup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        if container in groups:
            found.append(int(each.name))
    return [NodeProcess(pid) for pid in sorted(found)]
