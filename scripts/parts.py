"""Runs the parts of a target, in turn or side by side, and reports the time of each."""

import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Final, Self

from localcluster.machine.interrupts import SIGNALS, end_with_parent

INTERRUPTED: Final = 130  # the shell's exit code for a program that Ctrl-C ended
_COUNT: Final = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed)\b")
_FAILURE: Final = re.compile(r"^(FAILED|ERROR) \S+\.py\b")  # in pytest's summary, not in a log
_LAST_LINE: Final = re.compile(r"^=* *\d+ (passed|failed|skipped|error).* in [\d.]+s")


@dataclass(frozen=True, slots=True)
class Part:
    """One command. It begins once the part named `after` has ended."""

    name: str
    command: tuple[str, ...]
    after: str = ""


@dataclass(slots=True)
class Took:
    """How a part ended: its exit code, and its time in seconds.

    `result` is pytest's last line, `failures` its summary's line for each failed test. `cpu` counts
    the part's process and every process below it that it has waited for.
    """

    name: str
    code: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    result: str = ""
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.name}: {self.wall:.0f} s, {self.cpu:.0f} s of CPU time"


def build(*options: str) -> Part:
    """Return the build before pytest: its progress is visible and no test's time limit includes
    it.
    """
    command = (sys.executable, "-m", "localcluster", "build", *options)
    return Part("build of the cluster's components", command)


def pytest_run(name: str, *arguments: str, after: str = "") -> Part:
    """Return one pytest run, of folders or files, with options."""
    return Part(name, (sys.executable, "-m", "pytest", "-v", *arguments), after)


def run_all(
    parts: Sequence[Part], beside: Sequence[Part], at_once: int, took: Sequence[str] = ()
) -> int:
    """Run `parts` in turn, then `beside` side by side; return the exit code.

    The first of `parts` that fails ends the run. Each of `beside` runs to its end, even if another
    fails; the worst exit code counts. `at_once` of them run at the same time; the others wait, in
    their order. `took` contains the lines of earlier work.
    """
    began, lines = time.monotonic(), list(took)
    for part in parts:
        print(f"== {part.name}", flush=True)
        ended = Took(part.name)
        _run(partial(_unpiped, part), ended)
        lines.append(str(ended))
        print(f"== {ended}", flush=True)
        if ended.code == INTERRUPTED:
            return ended.code
        if ended.code != 0:
            print(f"error: {part.name} failed (exit code {ended.code}); nothing after it was run")
            return ended.code
    names = ", ".join(part.name for part in beside)
    print(f"== side by side, at most {at_once} at once: {names}", flush=True)
    all_ended = _side_by_side(beside, at_once)
    _report(lines, all_ended, time.monotonic() - began)
    return max(ended.code for ended in all_ended)


def to_its_end(begin: Callable[[], subprocess.Popen[bytes]]) -> int:
    """Begin a program; return its exit code, or 130 if it was interrupted."""
    ended = Took("")
    _run(begin, ended)
    return ended.code


class _Programs:
    """Programs that run. After a signal they end in order: they may have a cluster to delete.

    Ctrl-C reaches the programs by itself. SIGTERM and SIGHUP reach this process alone, which
    forwards them.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self._processes: list[subprocess.Popen[bytes]] = []
        self._terminated = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> Self:
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def begin(self, start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        """Begin a program, in the main thread: it gets SIGTERM when that thread ends."""
        process = start()
        self._processes.append(process)
        if self._terminated:
            self._forward()
        return process

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True
        if number != signal.SIGINT:
            self._terminated = True
            self._forward()

    def _forward(self) -> None:
        for process in self._processes:
            if process.returncode is None:
                # Not send_signal(): it would wait for the process.
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGTERM)


def _run(start: Callable[[], subprocess.Popen[bytes]], ended: Took) -> None:
    """Run one program, which writes to this process's output."""
    with _Programs() as programs:
        began = time.monotonic()
        _wait(programs.begin(start), ended, began)
        if programs.interrupted:
            ended.code = INTERRUPTED


def _wait(process: subprocess.Popen[bytes], ended: Took, began: float) -> None:
    _, status, used = os.wait4(process.pid, 0)
    code = process.returncode = os.waitstatus_to_exitcode(status)
    ended.code = 128 - code if code < 0 else code
    ended.wall = time.monotonic() - began
    ended.cpu = used.ru_utime + used.ru_stime


def _side_by_side(parts: Sequence[Part], at_once: int) -> list[Took]:
    """Run the parts, `at_once` of them at the same time; write each one's name before its lines.

    After an interruption no other part begins.
    """
    all_ended = {part.name: Took(part.name) for part in parts}
    width = max(len(part.name) for part in parts)
    waiting, unfinished = list(parts), {part.name for part in parts}
    with _Programs() as programs, selectors.DefaultSelector() as selector:
        while True:
            ready = [each for each in waiting if each.after not in unfinished]
            for part in ready[: at_once - len(selector.get_map())]:
                if not programs.interrupted:
                    waiting.remove(part)
                    output = _Output(
                        programs.begin(partial(_piped, part)), all_ended[part.name], width
                    )
                    selector.register(output.stream, selectors.EVENT_READ, output)
            if not selector.get_map():
                break
            for key, _ in selector.select():
                if not key.data.read():
                    selector.unregister(key.fileobj)
                    key.data.close()
                    unfinished.discard(key.data.ended.name)
        if programs.interrupted:
            for ended in all_ended.values():
                ended.code = INTERRUPTED
    return list(all_ended.values())


def _unpiped(part: Part) -> subprocess.Popen[bytes]:
    return subprocess.Popen(part.command, preexec_fn=end_with_parent)


def _piped(part: Part) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        part.command, preexec_fn=end_with_parent, stdout=pipe, stderr=subprocess.STDOUT
    )


class _Output:
    """The output of a part's program, which is printed line by line."""

    def __init__(self, process: subprocess.Popen[bytes], ended: Took, width: int) -> None:
        assert process.stdout is not None
        self.stream = process.stdout
        self.ended = ended
        self._process = process
        self._width = width
        self._began = time.monotonic()
        self._rest = b""

    def read(self) -> bool:
        """Print the lines that are there; return False at the end of the output."""
        chunk = os.read(self.stream.fileno(), 65_536)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines or ([self._rest] if not chunk and self._rest else []):
            self._print(line.decode(errors="replace"))
        return bool(chunk)

    def close(self) -> None:
        """Wait for the program."""
        self.stream.close()
        _wait(self._process, self.ended, self._began)

    def _print(self, line: str) -> None:
        if _LAST_LINE.match(line):
            self.ended.result = line.strip("= ")
        elif _FAILURE.match(line):
            self.ended.failures.append(line)
        print(f"{self.ended.name:<{self._width}} | {line}", flush=True)


def _report(lines: Sequence[str], ended: Sequence[Took], wall: float) -> None:
    """Print what every part took and which tests failed; the last line counts all tests."""
    print("== what each part took")
    for line in lines:
        print(line)
    for each in ended:
        print(f"{each}; exit code {each.code}; {each.result or 'no result'}")
    print(f"all: {wall:.0f} s, {sum(each.cpu for each in ended):.0f} s of CPU time in tests")
    for line in (line for each in ended for line in each.failures):
        print(line)
    counts = counted(each.result for each in ended)
    # A part can fail without a test: it died, or a check after its tests failed.
    counts["failed"] += sum(
        each.code != 0 and not counted([each.result])["failed"] for each in ended
    )
    # A line of its own: a reader of the log's end finds all tests in it.
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    sys.stdout.flush()


def counted(lines: Iterable[str]) -> Counter[str]:
    """Add up what pytest's last lines count; errors count as failed."""
    counts: Counter[str] = Counter()
    for line in lines:
        for number, what in _COUNT.findall(line):
            counts["failed" if what.startswith("error") else what] += int(number)
    return counts
