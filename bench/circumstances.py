"""Describes a run: date, commit, versions, machine and load."""

import os
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from bench import machine
from localcluster.programs.catalogue import CATALOGUE
from shared.api.objects import JsonObject
from shared.process.clock import SystemClock

_ROOT = Path(__file__).resolve().parents[1]
# The parts whose speed the figures contain: component → name.
_MEASURED = {
    "appwrapper": "Go operator",
    "kueue": "Kueue",
    "kubernetes": "Kubernetes",
    "etcd": "etcd",
    "kwok": "KWOK",
}
_BUSY = 1.0  # a load average


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The facts without which the figures of a run mean nothing.

    `commit` ends with `+` if the work tree differed from it. `load` is the average number of
    running processes in the minute before the run: near 0 on a quiet machine.
    """

    date: str
    commit: str
    versions: Mapping[str, str]
    machine: str
    load: float
    command: str
    seconds: float = 0.0

    @classmethod
    def gather(cls, command: str) -> Self:
        """Describes a run that begins now."""
        return cls(
            date=SystemClock().now().date().isoformat(),
            commit=_commit(),
            versions={name: CATALOGUE[each].version for each, name in _MEASURED.items()},
            machine=machine.description(),
            load=round(os.getloadavg()[0], 1),
            command=command,
        )

    def ended(self, began: float) -> Self:
        """Returns the same of a run that began at this time of the monotonic clock."""
        return replace(self, seconds=round(time.monotonic() - began, 1))

    @property
    def host(self) -> str:
        """Returns the machine, and whether other work ran beside the benchmark."""
        busy = ", so other work ran beside it" if self.load >= _BUSY else ""
        return f"{self.machine}, with a load average of {self.load} before the run{busy}"

    def sentences(self) -> list[str]:
        """Returns the lines of a page that describe the run."""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        return [
            f"- Command: `{self.command}`, in {self.seconds / 60:.1f} minutes on {self.date}",
            f"- This operator: commit {self.commit}",
            f"- Versions: {versions}",
            f"- Machine: {self.host}",
        ]

    def as_json(self) -> JsonObject:
        """Returns all fields."""
        return asdict(self)


def measured_by(arguments: Sequence[str]) -> str:
    """Returns the command without the file that it writes, which changes no figure."""
    given = iter(arguments)
    kept = []
    for each in given:
        if each == "--json":
            next(given, None)
        elif not each.startswith("--json="):
            kept.append(each)
    return shlex.join(["python", "-m", "bench", *kept])


def _commit() -> str:
    """Returns the short hash of the work tree's commit; `unknown` outside a repository."""
    try:
        commit = _git("rev-parse", "--short=8", "HEAD")
        return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _git(*arguments: str) -> str:
    command = ("git", *arguments)
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()
