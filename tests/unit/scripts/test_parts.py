"""Parts run in turn and side by side, end in order, and are reported with their times."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.parts import Part, Took, counted, run_all
from tests.support.manifests import ROOT
from tests.support.signals import hear_all_signals


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_the_first_failure_ends_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    fails, never = Part("one", python("raise SystemExit(3)")), Part("two", python("print('two')"))
    assert run_all((fails, never), (never,), 1) == 3
    printed = capfd.readouterr().out
    assert printed.endswith("error: one failed (exit code 3); nothing after it was run\n")
    assert "two" not in printed


def last_line(text: str, code: int) -> tuple[str, ...]:
    return python(f"print('=== {text} in 1.5s ==='); raise SystemExit({code})")


@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, 3), (4, 0)])
def test_parallel_parts_are_labelled_and_each_counts(
    first: int, second: int, capfd: pytest.CaptureFixture[str]
) -> None:
    a = Part("a", last_line("3 passed, 2 skipped", first))
    other = Part("other", last_line("1 failed, 4 passed, 1 error", second))
    one = Part("one", python(""))
    assert run_all((one,), (a, other), 2, ("before: 9 s",)) == max(first, second)
    # A busy machine takes a second to start an interpreter.
    printed = re.sub(r"\b\d+ s\b", "N s", capfd.readouterr().out).splitlines()
    assert printed[:3] == [
        "== one",
        "== one: N s, N s of CPU time",
        "== side by side, at most 2 at once: a, other",
    ]
    assert sorted(printed[3:5]) == [
        "a     | === 3 passed, 2 skipped in 1.5s ===",
        "other | === 1 failed, 4 passed, 1 error in 1.5s ===",
    ]
    assert printed[5:] == [
        "== what each part took",
        "before: N s",
        "one: N s, N s of CPU time",
        f"a: N s, N s of CPU time; exit code {first}; 3 passed, 2 skipped in 1.5s",
        f"other: N s, N s of CPU time; exit code {second}; 1 failed, 4 passed, 1 error in 1.5s",
        "all: N s, N s of CPU time in tests",
        f"7 passed, {2 + (first != 0)} failed, 2 skipped",
    ]


def beginning_and_end(name: str, seconds: float) -> Part:
    code = f"import time; print('begins', flush=True); time.sleep({seconds}); print('ends')"
    return Part(name, python(code))


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_parts_wait_for_their_turn_in_their_order(
    at_once: int, capfd: pytest.CaptureFixture[str]
) -> None:
    parts = [beginning_and_end(name, 0.3) for name in "abcd"]
    assert run_all((), parts, at_once) == 0
    printed = re.findall(r"^(\w) \| (begins|ends)$", capfd.readouterr().out, re.MULTILINE)
    assert len(printed) == 8
    running: set[str] = set()
    most = 0
    for name, what in printed:
        (running.add if what == "begins" else running.remove)(name)
        most = max(most, len(running))
    assert most <= at_once
    if at_once == 1:  # a slow start may let a later one of several begin to print first
        assert [name for name, what in printed if what == "begins"] == ["a", "b", "c", "d"]


def test_a_part_in_the_background_needs_no_turn_and_has_the_lowest_priority(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    waits = f"import pathlib, time\nwhile len([*pathlib.Path({str(tmp_path)!r}).iterdir()]) < 2:"
    first = Part("a", python(f"{waits} time.sleep(0.01)\nprint('ends')"))
    shows = "import os, pathlib; print(os.sched_getscheduler(0) == os.SCHED_IDLE, flush=True)"
    behind = [
        Part(name, python(f"{shows}; pathlib.Path({str(tmp_path / name)!r}).touch()"), True)
        for name in "bc"
    ]
    assert run_all((), (first, *behind), 1) == 0
    lines = [line for line in capfd.readouterr().out.splitlines() if line[1:4] == " | "]
    assert sorted(lines) == ["a | ends", "b | True", "c | True"]


def test_a_part_that_a_signal_ends_has_failed(capfd: pytest.CaptureFixture[str]) -> None:
    killed = Part("killed", python("import os; os.kill(os.getpid(), 9)"))
    assert run_all((), (killed,), 1) == 137
    printed = capfd.readouterr().out
    assert "exit code 137; no result\n" in printed
    assert printed.endswith("\n0 passed, 1 failed, 0 skipped\n")


def test_tests_that_failed_are_named_again_at_the_end(capfd: pytest.CaptureFixture[str]) -> None:
    """Whoever sees only the end of a log, as CI's readers do, learns which ones."""
    unwanted = ["FAILED tests/a.py::test_b[1] - assert 1 == 2", "ERROR tests/a.py::test_c - Gone"]
    log = ["ERROR    root:a.py:1 said by a program", "tests/a.py::test_b[1] FAILED [ 50%]"]
    prints = python(f"print({chr(10).join([*log, *unwanted])!r}); raise SystemExit(1)")
    assert run_all((), (Part("a", prints),), 1) == 1
    printed = capfd.readouterr().out.splitlines()
    assert printed[-3:] == [*unwanted, "0 passed, 1 failed, 0 skipped"]
    assert printed[-4].startswith("all: ")


def test_cpu_time_counts_programs_that_a_part_has_waited_for(
    capfd: pytest.CaptureFixture[str],
) -> None:
    burns = "import os\nwhile sum(os.times()[:2]) < 1.2: pass"
    waits = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burns!r}])"
    assert run_all((), (Part("waits", python(waits)),), 1) == 0
    found = re.search(r"waits: \d+ s, (\d+) s of CPU time", capfd.readouterr().out)
    assert found is not None
    assert int(found[1]) >= 1


def test_errors_count_as_failed() -> None:
    lines = ("2 passed, 1 warning in 3.00s", "", "1 failed, 2 errors in 1.00s")
    assert counted(lines) == {"passed": 2, "failed": 3}
    assert str(Took("x", 1, 61.4, 2.6)) == "x: 61 s, 3 s of CPU time"


@pytest.mark.parametrize("last", [False, True])
def test_ctrl_c_ends_the_run_when_its_part_has_cleaned_up(
    last: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored below a shell's `&`
    # What Popen grants a child that was interrupted is a quarter of a second.
    cleans_up = python(
        "import os, pathlib, signal, threading;"
        "os.kill(os.getppid(), signal.SIGINT);"
        "threading.Event().wait(0.6);"
        f"pathlib.Path({str(tmp_path / 'clean')!r}).touch()"
    )
    never = Part("never", python(f"open({str(tmp_path / 'never')!r}, 'w')"))
    parts = () if last else (Part("one", cleans_up),)
    assert run_all(parts, (Part("last", cleans_up) if last else never, never), 1) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["clean"]
    assert "error: " not in capfd.readouterr().out


CLEANS_UP = """
import pathlib, signal, sys, threading
def clean(*_):
    threading.Event().wait(0.6)
    pathlib.Path(sys.argv[1], "clean").touch()
    raise SystemExit(143)
signal.signal(signal.SIGTERM, clean)
print("started", flush=True)
threading.Event().wait(20)
"""
RUNS_IT = """
import sys
from localcluster.machine.interrupts import end_with_parent
from scripts.parts import Part, run_all
end_with_parent()
part = Part("part", (sys.executable, "-c", sys.argv[1], sys.argv[2]))
sys.exit(run_all((part,), (part,), 1))
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 130), (signal.SIGHUP, 130), (signal.SIGKILL, -9)]
)
def test_a_signal_to_the_run_alone_ends_its_part_in_order(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    command = (sys.executable, "-c", RUNS_IT, CLEANS_UP, str(tmp_path))
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, preexec_fn=hear_all_signals
    ) as running:
        assert running.stdout is not None
        assert [running.stdout.readline() for _ in range(2)] == ["== part\n", "started\n"]
        running.send_signal(number)
        rest = running.stdout.read()  # to the end of both: the part has the same output
        assert running.wait() == code
    assert [path.name for path in tmp_path.iterdir()] == ["clean"]
    assert "failed" not in rest
