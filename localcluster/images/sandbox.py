"""Runs the programs that build images, so that none of them leaves anything behind.

Each runs in its own mount and process namespaces, whose first process dies with this process. Its
mounts are invisible outside and vanish with it, however we end.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from localcluster.machine.child import Child
from localcluster.machine.disk import says_full
from localcluster.machine.errors import BuildFailed, DiskFull
from localcluster.machine.tools import system_path

_SHOWN_LINES = 25
_NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
# containers/image writes notes about registries there, whatever storage it uses. At most the empty
# folder stays.
_HIDE = 'mkdir -p /var/lib/containers && mount -t tmpfs none /var/lib/containers && exec "$@"'


async def run(
    what: str,
    command: Sequence[str],
    log: Path,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> None:
    """Runs one command; `log` gets its output. If cancelled, it ends the command first.

    Raises BuildFailed with the last lines, DiskFull.
    """
    with log.open("ab") as output:
        child = Child(
            [*_NAMESPACES, "sh", "-c", _HIDE, "sh", *command],
            output=output,
            environment=os.environ | system_path() | dict(environment or {}),
            folder=folder,
        )
        try:
            code = await child.wait()
        finally:
            if child.exit_code is None:
                child.kill_now()
    if code != 0:
        raise _failure(what, code, log)


def _failure(what: str, code: int, log: Path) -> BuildFailed | DiskFull:
    text = log.read_text(errors="replace")
    if says_full(text):
        return DiskFull(
            f"The disk became full ({what}). Free some space, or set XDG_CACHE_HOME to a folder on"
            " a larger disk."
        )
    return failure_of(what, code, text)


def failure_of(what: str, code: int, output: str) -> BuildFailed:
    """Returns the error with the last lines of a tool's output."""
    last = "\n".join(output.rstrip().splitlines()[-_SHOWN_LINES:])
    return BuildFailed(f"Failed, exit code {code}: {what}. Its last output:\n\n{last}")
