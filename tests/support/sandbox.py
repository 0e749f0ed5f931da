"""A separate place for a test that starts clusters, and the proof that it leaves nothing."""

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path

from localcluster.machine.slowness import stretched


def processes_of(folder: Path) -> list[str]:
    """Returns the command lines of all processes that refer to the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            environment = (entry / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line or str(folder) in environment:
            found.append(line)
    return found


async def until_no_process_of(folder: Path) -> None:
    """Waits for the kernel: it needs a moment to end a process of 400 MB, longer on a busy
    machine.
    """
    deadline = time.monotonic() + stretched(60.0)
    while time.monotonic() < deadline:
        if not processes_of(folder):
            return
        await asyncio.sleep(0.02)
    assert processes_of(folder) == []


@dataclass(frozen=True)
class Sandbox:
    """Temporary files, clusters and caches of one test, apart from all others."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"TMPDIR": str(self.folder / "tmp")}

    @property
    def temporary(self) -> list[str]:
        """Returns the temporary files without kept logs, which are meant to stay."""
        names = [entry.name for entry in (self.folder / "tmp").iterdir()]
        return [name for name in names if not name.startswith("appwrapper-logs-")]
