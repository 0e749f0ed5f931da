"""Runs the parts of a target, in turn or side by side, and reports the time of each."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final, Self

from localcluster.machine.interrupts import SIGNALS, end_with_parent

INTERRUPTED: Final = 130  # the shell's exit code for a program that Ctrl-C ended
# As many as there are cores: the last ones end together.
_IN_THE_BACKGROUND: Final = 2
_COUNT: Final = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed)\b")
_FAILURE: Final = re.compile(r"^(FAILED|ERROR) \S+\.py\b")  # in pytest's summary, not in a log
_LAST_LINE: Final = re.compile(r"^=* *\d+ (passed|failed|skipped|error).* in [\d.]+s")


@dataclass(frozen=True, slots=True)
class Part:
    """One command.

    A part in the `background` runs at the lowest priority, on the CPU time that the others leave.
    """

    name: str
    command: tuple[str, ...]
    background: bool = False


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
    began: float = field(default_factory=time.monotonic)

    def read(self, line: str) -> None:
        """Read a line of the part's output."""
        if _LAST_LINE.match(line):
            self.result = line.strip("= ")
        elif _FAILURE.match(line):
            self.failures.append(line)

    def __str__(self) -> str:
        return f"{self.name}: {self.wall:.0f} s, {self.cpu:.0f} s of CPU time"


def build(*options: str) -> Part:
    """Return the build before pytest: its progress is visible, and no test's limit includes it."""
    command = (sys.executable, "-m", "localcluster", "build", *options)
    return Part("build of the cluster's components", command)


def pytest_run(name: str, *arguments: str) -> Part:
    """Return one pytest run, of folders or files, with options."""
    return Part(name, (sys.executable, "-m", "pytest", "-v", *arguments))


def run_all(
    parts: Sequence[Part], beside: Sequence[Part], at_once: int, took: Sequence[str] = ()
) -> int:
    """Run `parts` in turn, then `beside` side by side; return the exit code.

    The first of `parts` that fails ends the run. Each of `beside` runs to its end, even if another
    fails; the worst exit code counts. `at_once` of them run at the same time, and two more in the
    background; the others wait, in their order. `took` contains the lines of earlier work.
    """
    began, lines = time.monotonic(), list(took)
    for part in parts:
        print(f"== {part.name}", flush=True)
        ended = _to_its_end(part.name, part.command, preexec_fn=end_with_parent)
        lines.append(str(ended))
        print(f"== {ended}", flush=True)
        if ended.code == INTERRUPTED:
            return ended.code
        if ended.code != 0:
            print(f"error: {part.name} failed (exit code {ended.code}); nothing after it was run")
            return ended.code
    names = ", ".join(part.name for part in beside)
    print(f"== side by side, at most {at_once} at once: {names}", flush=True)
    all_ended = asyncio.run(_side_by_side(beside, at_once))
    _report(lines, all_ended, time.monotonic() - began)
    return max(ended.code for ended in all_ended)


def to_its_end(command: Sequence[str], **options: Any) -> int:
    """Run a program, with options of Popen; return its exit code, or 130 if it was interrupted."""
    return _to_its_end("", command, **options).code


def _to_its_end(name: str, command: Sequence[str], **options: Any) -> Took:
    """Run one program, which writes to this process's output."""
    with _Programs() as programs:
        ended = Took(name)
        programs.wait(programs.begin(command, **options), ended)
    return ended


class _Programs:
    """Programs that run. After a signal they end in order: they may have a cluster to delete.

    Ctrl-C reaches the programs by itself. SIGTERM and SIGHUP reach this process alone, which
    forwards them.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self._processes: list[subprocess.Popen[bytes]] = []
        self._terminated = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def begin(self, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        """Begin a program, in the main thread: it gets SIGTERM when that thread ends."""
        process = subprocess.Popen(command, **options)
        self._processes.append(process)
        if self._terminated:
            self._forward()
        return process

    def wait(self, process: subprocess.Popen[bytes], ended: Took) -> None:
        """Wait until a program ends, and write down how it did."""
        _, status, used = os.wait4(process.pid, 0)
        code = process.returncode = os.waitstatus_to_exitcode(status)
        ended.code = INTERRUPTED if self.interrupted else 128 - code if code < 0 else code
        ended.wall = time.monotonic() - ended.began
        ended.cpu = used.ru_utime + used.ru_stime

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


async def _side_by_side(parts: Sequence[Part], at_once: int) -> list[Took]:
    """Run the parts, `at_once` of them at the same time; write each one's name before its lines.

    After an interruption no other part begins.
    """
    width = max(len(part.name) for part in parts)
    foreground, background = asyncio.Semaphore(at_once), asyncio.Semaphore(_IN_THE_BACKGROUND)

    async def run(part: Part) -> Took:
        async with background if part.background else foreground:
            ended = Took(part.name, INTERRUPTED)
            if not programs.interrupted:
                process = programs.begin(
                    part.command,
                    preexec_fn=_in_the_background if part.background else end_with_parent,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
                async for line in _lines(process):
                    ended.read(line)
                    print(f"{part.name:<{width}} | {line}", flush=True)
                programs.wait(process, ended)
        return ended

    with _Programs() as programs:
        return await asyncio.gather(*map(run, parts))


def _in_the_background() -> None:
    """Give way at once to any program that wakes up, as a cluster's do for each request.

    With a nice value alone, the kernel may finish a slice of time first.
    """
    end_with_parent()
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


async def _lines(process: subprocess.Popen[bytes]) -> AsyncIterator[str]:
    """Yield the lines of a program's output, of any length."""
    reader = asyncio.StreamReader(limit=sys.maxsize)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), process.stdout)
    async for line in reader:
        yield line.decode(errors="replace").removesuffix("\n")


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
