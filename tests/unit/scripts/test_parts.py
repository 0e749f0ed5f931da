"""What `make test` and `make e2e` run, in which order, and what they say of it."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts import e2e_packages, parts, run_e2e, run_tests
from scripts.parts import Part, run_all
from tests.support.manifests import ROOT
from tests.support.signals import hear_all_signals

Settled = tuple[str, tuple[str, ...]]


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The commands that were run. Each succeeds."""
    commands: list[tuple[str, ...]] = []

    def run(part: Part, environment: object) -> tuple[int, float]:
        commands.append(part.command)
        return 0, 2.0

    monkeypatch.setattr(parts, "_run", run)
    return commands


@pytest.fixture
def settles(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Says whether e2e can run; empty where it can."""

    def say(left_out: str) -> None:
        monkeypatch.setattr(e2e_packages, "settle", lambda: (left_out, ()))

    return say


def test_everything_is_one_pytest_run_with_e2e_last(
    runs: list[tuple[str, ...]],
    settles: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    settles("")
    assert run_tests.main() == 0
    build = (sys.executable, "-m", "localcluster", "build", "--with", "all", "--real-node")
    folders = ("tests/unit", "tests/integration", "tests/e2e")
    pytest_run = (sys.executable, "-m", "pytest", "-v", *folders)
    assert runs == [("make", "lint"), build, pytest_run]
    assert "e2e (" not in capsys.readouterr().out


def test_e2e_is_left_out_aloud(
    runs: list[tuple[str, ...]],
    settles: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    settles("It needs root.")
    assert run_tests.main() == 0
    assert runs[1:] == [
        (sys.executable, "-m", "localcluster", "build", "--with", "all"),
        (sys.executable, "-m", "pytest", "-v", "tests/unit", "tests/integration"),
    ]
    assert "left out: e2e (It needs root.)\n" in capsys.readouterr().out


def test_make_e2e_runs_them_alone_and_each_once(
    runs: list[tuple[str, ...]], settles: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    both: list[tuple[str, ...]] = []

    def run_both(last: Part, beside: Part, environment: object) -> int:
        both.extend((last.command, beside.command))
        return 0

    monkeypatch.setattr(parts, "_run_both", run_both)
    settles("")
    assert run_e2e.main() == 0
    assert runs == [(sys.executable, "-m", "localcluster", "build", "--real-node")]
    one_cluster, others = both
    *files, left_out = others[4:]
    assert others == (sys.executable, "-m", "pytest", "-v", *files, left_out)
    assert one_cluster == (*others[:4], "tests/e2e", *(f"--ignore={each}" for each in files))
    assert [each for each in files if not (ROOT / each).is_file()] == []
    # What is left to `make test` is still there under its name.
    file, _, name = left_out.removeprefix("--deselect=").partition("::")
    assert f"async def {name}(" in (ROOT / file).read_text()


def test_make_e2e_fails_where_they_cannot_run(
    runs: list[tuple[str, ...]],
    settles: Callable[[str], None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    settles("It needs root.")
    assert run_e2e.main() == 1
    assert runs == []
    assert capsys.readouterr().err == "error: e2e cannot run here. It needs root.\n"


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def test_the_first_failure_ends_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    fails, never = Part("one", python("raise SystemExit(3)")), Part("two", python("print('two')"))
    assert run_all((fails, never), never) == 3
    said = capfd.readouterr().out
    assert said.endswith("error: one failed (exit code 3); nothing after it was run\n")
    assert "two" not in said


def test_the_last_part_is_told_what_the_others_took(capfd: pytest.CaptureFixture[str]) -> None:
    tells = python("import os; print(os.environ['TEST_PARTS_TOOK']); raise SystemExit(5)")
    assert run_all((Part("one", python("")),), Part("last", tells), ("before: 9 s",)) == 5
    # A busy machine takes a second to start an interpreter.
    said = re.sub(r"one: \d+ s", "one: N s", capfd.readouterr().out).splitlines()
    assert said == ["== one", "== one: N s", "== last", "before: 9 s", "one: N s"]


@pytest.mark.parametrize(("first", "second"), [(0, 0), (0, 3), (4, 0)])
def test_what_runs_beside_is_shown_afterwards_and_counts(
    first: int, second: int, capfd: pytest.CaptureFixture[str]
) -> None:
    last = Part("last", python(f"print('live'); raise SystemExit({first})"))
    beside = Part("beside", python(f"print('later'); raise SystemExit({second})"))
    assert run_all((), last, beside=beside) == max(first, second)
    assert capfd.readouterr().out.splitlines() == [
        "== last; at the same time, shown afterwards: beside",
        "live",
        "== beside",
        "later",
        f"== exit codes: last {first}, beside {second}",
    ]


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
    parts_ = () if last else (Part("one", cleans_up),)
    assert run_all(parts_, Part("last", cleans_up) if last else never) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["clean"]
    assert "failed" not in capfd.readouterr().out


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
from scripts.parts import Part, end_in_order, run_all
end_in_order()
part = Part("part", (sys.executable, "-c", sys.argv[1], sys.argv[2]))
sys.exit(run_all((part,), part))
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 130), (signal.SIGHUP, 130), (signal.SIGKILL, -9)]
)
def test_whoever_ends_it_alone_ends_its_part_in_order(
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
