"""Runs the parts of a target, in turn or side by side, and reports the time of each."""

import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from types import FrameType

from localcluster.machine.interrupts import end_with_parent

BETWEEN = "--"  # two commands of scripts.in_turn
INTERRUPTED = 130  # the shell's exit code for a program that Ctrl-C ended
_COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed)\b")
_UNWANTED = re.compile(r"^(FAILED|ERROR) \S+\.py\b")  # in pytest's summary, not in a log
_LAST_LINE = re.compile(r"^=* *\d+ (passed|failed|skipped|error).* in [\d.]+s")


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    command: tuple[str, ...]


@dataclass(slots=True)
class Took:
    """How a part ended: its exit code, and its time in seconds.

    `said` is pytest's last line, of each of its runs; `unwanted` its summary's line for each failed
    test. `cpu` counts the part's process and every process below it that it has waited for.
    """

    name: str
    code: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    said: str = ""
    unwanted: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.name}: {self.wall:.0f} s, {self.cpu:.0f} s of CPU time"


def build(*options: str) -> Part:
    """Return the build before pytest: its progress is visible and no test's time limit includes
    it.
    """
    command = (sys.executable, "-m", "localcluster", "build", *options)
    return Part("build of the cluster's components", command)


def tests(name: str, *arguments: str) -> Part:
    """Return one pytest run, of folders or files, with options."""
    return Part(name, (sys.executable, "-m", "pytest", "-v", *arguments))


def in_turn(name: str, *parts: Part) -> Part:
    """Return one part of several, each of which begins when the one before it has ended."""
    first, *others = parts
    words = [*first.command, *(word for each in others for word in (BETWEEN, *each.command))]
    return Part(name, (sys.executable, "-m", "scripts.in_turn", *words))


class Terminated(KeyboardInterrupt):
    """A signal ended this process alone, or `make` above it: the parts did not get it."""


def end_in_order() -> None:
    """Make SIGTERM, a closed terminal and the end of `make` end the running parts, too.

    Call it from the main thread.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP, and means it
            signal.signal(number, _terminate)
    end_with_parent()


def _terminate(number: int, frame: FrameType | None) -> None:
    raise Terminated


def run_all(
    parts: Sequence[Part], beside: Sequence[Part], at_once: int, took: Sequence[str] = ()
) -> int:
    """Run `parts` in turn, then `beside` side by side; return the exit code.

    The first of `parts` that fails ends the run. Each of `beside` runs to its end, even if another
    fails; the worst exit code counts. `at_once` of them run at the same time; the others wait, in
    their order. `took` contains the lines of earlier work.
    """
    began, told = time.monotonic(), list(took)
    for part in parts:
        print(f"== {part.name}", flush=True)
        [ended] = _to_their_end((part,))
        told.append(str(ended))
        print(f"== {ended}", flush=True)
        if ended.code == INTERRUPTED:
            return ended.code
        if ended.code != 0:
            print(f"error: {part.name} failed (exit code {ended.code}); nothing after it was run")
            return ended.code
    names = ", ".join(part.name for part in beside)
    print(f"== side by side, at most {at_once} at once: {names}", flush=True)
    all_ended = _to_their_end(beside, at_once, labelled=True)
    _report(told, all_ended, time.monotonic() - began)
    return max(ended.code for ended in all_ended)


def _report(told: Sequence[str], ended: Sequence[Took], wall: float) -> None:
    """Print what every part took and which tests failed; the last line counts all tests."""
    print("== what each part took")
    for line in told:
        print(line)
    for each in ended:
        print(f"{each}; exit code {each.code}; {each.said or 'no result'}")
    print(f"all: {wall:.0f} s, {sum(each.cpu for each in ended):.0f} s of CPU time in tests")
    for line in (line for each in ended for line in each.unwanted):
        print(line)
    counts = counted(each.said for each in ended)
    # A part can fail without a test: it died, or a check after its tests failed.
    counts["failed"] += sum(each.code != 0 and not counted([each.said])["failed"] for each in ended)
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


def _to_their_end(parts: Sequence[Part], at_once: int = 1, *, labelled: bool = False) -> list[Took]:
    """Run the parts, `at_once` of them at the same time.

    `labelled` writes its part's name before every line.
    """

    def begin(part: Part) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            part.command,
            preexec_fn=end_with_parent,
            stdout=subprocess.PIPE if labelled else None,
            stderr=subprocess.STDOUT if labelled else None,
        )

    ended = [Took(part.name) for part in parts]
    beginnings = [partial(begin, part) for part in parts]
    width = max(len(part.name) for part in parts)
    if _follow_all(beginnings, ended, at_once, width):
        for each in ended:
            each.code = INTERRUPTED
    return ended


def _follow_all(
    beginnings: Sequence[Callable[[], subprocess.Popen[bytes]]],
    ended: Sequence[Took],
    at_once: int = 1,
    width: int = 0,
) -> bool:
    """Begin programs in order and follow each to its end in a thread; True if interrupted.

    After an interruption no other program begins. Ctrl-C reaches programs by itself. SIGTERM
    reaches this process alone, which forwards it.
    """
    over: queue.SimpleQueue[None] = queue.SimpleQueue()  # join() would not survive a Ctrl-C

    followed: dict[int, object] = {}  # by process ID, its thread

    def follow(process: subprocess.Popen[bytes], took: Took) -> None:
        me = object()
        if followed.setdefault(process.pid, me) is me:
            _follow(process, took, width)
            over.put(None)

    started: list[tuple[subprocess.Popen[bytes], Took]] = []
    interrupted, threads, done = False, 0, 0
    waiting = deque(zip(beginnings, ended, strict=True))
    while done < len(started) or (waiting and not interrupted):
        try:
            if waiting and len(started) - done < at_once and not interrupted:
                # In the main thread: a program gets SIGTERM when the thread that began it ends.
                begin, took = waiting.popleft()
                started.append((begin(), took))
            while threads < len(started):
                # Interrupted inside start(), it is called again; one of the two threads follows.
                threading.Thread(target=follow, args=started[threads], daemon=True).start()
                threads += 1
            if interrupted or not waiting or len(started) - done == at_once:
                over.get()
                done += 1
        except Terminated:
            _forward(signal.SIGTERM, [process for process, _ in started])
            interrupted = True
        except KeyboardInterrupt:
            # The programs got the signal, too. They now delete their clusters, or finish a
            # half-done installation: killed, they could not.
            interrupted = True
    return interrupted


def _forward(number: int, processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Send the signal to each process that still runs."""
    for process in processes:
        if process.returncode is None:
            # Not send_signal(): it would wait for the process, which its thread does.
            with suppress(ProcessLookupError):
                os.kill(process.pid, number)


def _follow(process: subprocess.Popen[bytes], ended: Took, width: int) -> None:
    """Show the lines of one program and wait for its end."""
    began = time.monotonic()
    with process.stdout or nullcontext(()) as lines:
        for raw in lines:
            line = raw.decode(errors="replace").rstrip("\n")
            if _LAST_LINE.match(line):
                ended.said = "; ".join(filter(None, (ended.said, line.strip("= "))))
            elif _UNWANTED.match(line):
                ended.unwanted.append(line)
            # In one write with its end, or lines of two parts run into each other.
            print(f"{ended.name:<{width}} | {line}\n", end="", flush=True)
    _, status, used = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    process.returncode = code
    ended.code = 128 - code if code < 0 else code
    ended.wall = time.monotonic() - began
    ended.cpu = used.ru_utime + used.ru_stime


def to_its_end(begin: Callable[[], subprocess.Popen[bytes]]) -> int:
    """Begin a program; return its exit code, or 130 if it was interrupted."""
    ended = Took("")
    return INTERRUPTED if _follow_all((begin,), (ended,)) else ended.code
