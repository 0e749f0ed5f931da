# ruff: noqa: TID251  (the program of a container: it has the time and the patience of its own)
"""Starts ranks as torchrun does, without PyTorch: `python3 torchrun.py --nproc N SCRIPT [ARG...]`.

Like torchrun 2.x: each rank is a child in a session of its own, with RANK, LOCAL_RANK, WORLD_SIZE
and an error file. The launcher looks at its ranks every 0.1 s. The first that fails ends the others
by SIGTERM, and after 30 s by SIGKILL; its error file becomes the launcher's. Whatever its ranks'
exit codes are, the launcher ends with an uncaught exception, so with exit code 1. PET_NNODES and
PET_NODE_RANK say how many launchers there are and which this is.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

_NONE = "<N/A>"
_PATIENCE_SECONDS = 120.0


@dataclass(frozen=True)
class LaunchConfig:
    """How many ranks there are, and how often, in seconds, the launcher looks at them."""

    nproc_per_node: int
    monitor_interval: float = 0.1


@dataclass
class ProcessFailure:
    """One rank that failed; `exitcode` is the negated signal where one killed it."""

    local_rank: int
    pid: int
    exitcode: int
    error_file: str
    error_file_data: Any = field(init=False)
    timestamp: int = field(init=False)  # whole seconds: without a file, of the look at the rank

    def __post_init__(self) -> None:
        if os.path.isfile(self.error_file):
            self.error_file_data = json.loads(Path(self.error_file).read_text())
            self.timestamp = int(self.error_file_data["message"]["extraInfo"]["timestamp"])
        else:
            self.error_file, self.error_file_data = _NONE, {}
            self.timestamp = int(time.time())


class ChildFailedError(Exception):
    """What the launcher ends with when a rank failed."""

    def __init__(self, name: str, failures: dict[int, ProcessFailure]) -> None:
        self.name, self.failures = name, failures
        first = min(failures, key=lambda rank: failures[rank].timestamp)
        self.first = failures[first]
        super().__init__(f"{name} FAILED: rank {first} exited with {self.first.exitcode}")


class SignalException(Exception):
    """What the launcher ends with when it was told to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"Process {os.getpid()} got signal: {number}")
        self.number = number


def launch(config: LaunchConfig, command: list[str]) -> None:
    """Run the ranks to their end. Raises ChildFailedError, SignalException."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, _raise)
    count = config.nproc_per_node
    folder = Path(tempfile.mkdtemp(prefix="torchelastic_"))
    first_rank = int(os.environ.get("PET_NODE_RANK", "0")) * count
    world = int(os.environ.get("PET_NNODES", "1")) * count
    files = [folder / str(local_rank) / "error.json" for local_rank in range(count)]
    ranks = []
    for local_rank, file in enumerate(files):
        file.parent.mkdir()
        numbers = {"RANK": first_rank + local_rank, "LOCAL_RANK": local_rank, "WORLD_SIZE": world}
        added = {name: str(number) for name, number in numbers.items()}
        added["TORCHELASTIC_ERROR_FILE"] = str(file)
        ranks.append(subprocess.Popen(command, env={**os.environ, **added}, start_new_session=True))
    try:
        failed = _until_one_fails(ranks, config.monitor_interval)
    finally:
        _end(ranks)
    if failed:
        failures = {
            first_rank + each: ProcessFailure(
                each, ranks[each].pid, ranks[each].returncode, str(files[each])
            )
            for each in failed
        }
        raise ChildFailedError(" ".join(command), failures)


def _raise(number: int, frame: FrameType | None) -> None:
    raise SignalException(number)


def _until_one_fails(ranks: list[subprocess.Popen[bytes]], interval: float) -> list[int]:
    """Return the local ranks that had failed when it was seen; none if all succeeded."""
    while True:
        codes = [rank.poll() for rank in ranks]
        failed = [local_rank for local_rank, code in enumerate(codes) if code]
        if failed or None not in codes:
            return failed
        time.sleep(interval)


def _end(ranks: list[subprocess.Popen[bytes]]) -> None:
    for rank in ranks:
        if rank.poll() is None:
            rank.terminate()
    deadline = time.monotonic() + _PATIENCE_SECONDS
    for rank in ranks:
        try:
            rank.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            rank.kill()
            rank.wait()


def main() -> None:
    """Launch what the command line says."""
    option, count, *script = sys.argv[1:]
    if option != "--nproc":
        sys.exit("usage: torchrun.py --nproc N SCRIPT [ARG...]")
    try:
        launch(LaunchConfig(int(count)), [sys.executable, "-u", *script])
    except ChildFailedError as error:
        own = os.environ.get("TORCHELASTIC_ERROR_FILE")
        if own and error.first.error_file != _NONE:
            data = error.first.error_file_data
            data["message"]["errorCode"] = error.first.exitcode
            Path(own).write_text(json.dumps(data))
        raise


if __name__ == "__main__":
    main()
