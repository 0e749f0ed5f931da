"""Run the recorder as a user does: a copy of its folder, a command, a termination log."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from localcluster.machine.slowness import stretched
from worker.error_document import decode
from worker.record import ErrorRecord
from worker.termination_message import find

WORKER = Path(__file__).parents[2] / "worker"

# torchrun without torch: it starts a rank for each line of code given, waits for all of them, and
# raises as torchrun does. Its ranks have error files of their own.
TORCHRUN = """
import json, os, subprocess, sys, time

class ProcessFailure:
    def __init__(self, pid, exitcode, error_file):
        self.pid, self.exitcode, self.error_file = pid, exitcode, error_file
        self.error_file_data = {"message": "<NONE>"}
        self.timestamp = int(time.time())
        if os.path.isfile(error_file):
            with open(error_file) as file:
                self.error_file_data = json.load(file)
            facts = self.error_file_data["message"]["extraInfo"]
            self.timestamp = int(facts["timestamp"])
        else:
            self.error_file = "<N/A>"

class ChildFailedError(Exception):
    def __init__(self, failures):
        super().__init__("train.py FAILED")
        self.failures = failures

class Config:
    monitor_interval = 0.1

def launch_agent(config, codes):
    failures = {}
    for rank, code in enumerate(codes):
        error_file = os.path.join(os.environ["RANKS"], "%d.json" % rank)
        environ = dict(os.environ, RANK=str(rank), TORCHELASTIC_ERROR_FILE=error_file)
        process = subprocess.Popen([sys.executable, "-c", code], env=environ)
        status = process.wait()
        if status:
            failures[rank] = ProcessFailure(process.pid, status, error_file)
    if failures:
        raise ChildFailedError(failures)

launch_agent(Config(), sys.argv[1:])
"""


@dataclass(frozen=True)
class Recorded:
    """The remains of a recorded command."""

    exit_code: int
    stdout: str
    stderr: str
    log: str
    stored: tuple[Path, ...]

    @property
    def record(self) -> ErrorRecord | None:
        return find(self.log)

    @property
    def document(self) -> ErrorRecord:
        (path,) = self.stored
        return decode(path.read_bytes())


class Container:
    """A folder with the parts of a container: the recorder's copy, its log, a volume as the
    store.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "termination-log"
        self.log.touch()
        self.store = folder / "store"
        self.ranks = folder / "ranks"
        self.ranks.mkdir()
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.environ = {
            "PATH": os.environ["PATH"],
            "TMPDIR": str(self.temporary),
            "RANKS": str(self.ranks),
            "PYTHONDONTWRITEBYTECODE": "1",
            "AW_TERMINATION_LOG": str(self.log),
            "AW_WORKER_NAME": "train-worker-0",
            "AW_POD_UID": "0b9f",
            "AW_ATTEMPT": "2",
            "AW_ERROR_URI": str(self.store),
        }

    def start(self, *arguments: str, **environ: str) -> "subprocess.Popen[str]":
        """Start the recorder with `arguments`; `environ` replaces variables."""
        return subprocess.Popen(
            [sys.executable, str(WORKER), *arguments],
            env={**self.environ, **environ},
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, stdin: str = "", **environ: str) -> Recorded:
        return self.end(self.start(*arguments, **environ), stdin)

    def end(self, process: "subprocess.Popen[str]", stdin: str = "") -> Recorded:
        """Wait for the recorder's end, and return what it left."""
        stdout, stderr = process.communicate(stdin, timeout=stretched(180.0))
        stored = tuple(sorted(self.store.rglob("*"))) if self.store.exists() else ()
        return Recorded(process.returncode, stdout, stderr, self.log.read_text(), stored)

    def python(self, code: str, *options: str, **environ: str) -> Recorded:
        """Record a Python program."""
        return self.run(*options, "--", sys.executable, "-c", code, **environ)

    def torchrun(self, *ranks: str, options: tuple[str, ...] = ()) -> Recorded:
        """Record the stand-in of torchrun with one rank for each program."""
        return self.run(*options, "--", sys.executable, "-c", TORCHRUN, *ranks)


def line(stream: IO[str] | None) -> str:
    """Read one line that a recorded command wrote: it has come that far."""
    assert stream is not None
    return stream.readline()
