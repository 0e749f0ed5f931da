"""Runs the parts of `make test` and of `make e2e` in order, and says what each took."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import FrameType

from localcluster.orphan import end_with_parent

INTERRUPTED = 130  # the shell's exit code for a program that Ctrl-C ended


@dataclass(frozen=True, slots=True)
class Part:
    """One step."""

    name: str
    command: tuple[str, ...]


def build(*options: str) -> Part:
    """Before pytest, so that its progress is visible and no test's time limit pays for it."""
    command = (sys.executable, "-m", "localcluster", "build", *options)
    return Part("build of the cluster's components", command)


def tests(name: str, *arguments: str) -> Part:
    """One pytest run, of folders or files, with options."""
    return Part(name, (sys.executable, "-m", "pytest", "-v", *arguments))


class Terminated(KeyboardInterrupt):
    """Somebody asked this process alone to end, or ended `make` above it: the parts do not know."""


def end_in_order() -> None:
    """From now on SIGTERM, a closed terminal and the end of `make` end the part that runs, too.

    Call it from the main thread.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP, and means it
            signal.signal(number, _terminate)
    end_with_parent()


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


def run_all(
    parts: Sequence[Part], last: Part, took: Sequence[str] = (), beside: Part | None = None
) -> int:
    """Runs the parts and then pytest, whose summary closes the output; the exit code.

    The first part that fails ends the run. `took` says what was done before. `beside` is another
    pytest run at the same time as the last one, of what has clusters of its own and waits for most
    of its time. What it says is shown when both are over; the exit code is the worse one.
    """
    told = list(took)
    for part in parts:
        print(f"== {part.name}", flush=True)
        code, seconds = _run(part, os.environ)
        told.append(f"{part.name}: {seconds:.0f} s")
        print(f"== {told[-1]}", flush=True)
        if code == INTERRUPTED:
            return code
        if code != 0:
            print(f"error: {part.name} failed (exit code {code}); nothing after it was run")
            return code
    # tests/conftest.py prints these with the times of its own parts, so that pytest's line is last.
    environment = {**os.environ, "TEST_PARTS_TOOK": "\n".join(told)}
    if beside is not None:
        return _run_both(last, beside, environment)
    print(f"== {last.name}", flush=True)
    return _run(last, environment)[0]


def _run_both(last: Part, beside: Part, environment: Mapping[str, str]) -> int:
    print(f"== {last.name}; at the same time, shown afterwards: {beside.name}", flush=True)
    with tempfile.TemporaryFile() as said:
        other = subprocess.Popen(
            beside.command, stdout=said, stderr=said, env=os.environ, preexec_fn=end_with_parent
        )
        code, _ = _run(last, environment, other)
        codes = code, to_its_end(other, told=(other,))
        said.seek(0)
        print(f"== {beside.name}", flush=True)
        shutil.copyfileobj(said, sys.stdout.buffer)
        sys.stdout.flush()
    print(f"== exit codes: {last.name} {codes[0]}, {beside.name} {codes[1]}", flush=True)
    return max(codes)


def _run(
    part: Part, environment: Mapping[str, str], *others: subprocess.Popen[bytes]
) -> tuple[int, float]:
    """The exit code and the seconds a part took; 130 where it was interrupted."""
    began = time.monotonic()
    started = subprocess.Popen(part.command, env=environment, preexec_fn=end_with_parent)
    code = to_its_end(started, told=(started, *others))
    return code, time.monotonic() - began


def to_its_end(
    process: subprocess.Popen[bytes], told: Sequence[subprocess.Popen[bytes]] = ()
) -> int:
    """The exit code of a program; 130 where it was interrupted.

    Ctrl-C reaches programs by itself. SIGTERM reaches this process alone, and is sent to `told`.
    """
    interrupted = False
    while True:
        try:
            code = process.wait()
            break
        except Terminated:
            for each in told:
                each.terminate()
            interrupted = True
        except KeyboardInterrupt:
            # It was told as well. It takes its clusters down now, or what it has half installed
            # comes to an end: killed, it would not.
            interrupted = True
    return INTERRUPTED if interrupted else code
