"""The commands that docs/users/failures.md shows of the recorder run, without a cluster."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.manifests import ROOT
from tests.support.shown_commands import commands_in
from worker.record import ErrorRecord
from worker.termination_message import find

PAGE = "users/failures.md"
TEXT = (ROOT / "docs" / PAGE).read_text()
ZIPPED, CONFIGMAP, RECORDED = (
    line for line in commands_in(PAGE) if "worker.zip" in line or "-m worker" in line
)
PROGRAMS = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def recorded(folder: Path, program: str, *options: str) -> tuple[int, ErrorRecord | None]:
    """Run `program` as the page shows, from the archive. Return the exit code and the record."""
    archive = folder / "worker.zip"
    subprocess.run(shlex.split(ZIPPED.replace("worker.zip", str(archive))), cwd=ROOT, check=True)
    (folder / "train.py").write_text(program)
    log = folder / "termination-log"
    log.touch()
    command = shlex.split(RECORDED.replace("torchrun", sys.executable))
    environment = {
        **os.environ,
        "PYTHONPATH": str(archive),
        "AW_TERMINATION_LOG": str(log),
    }
    ended = subprocess.run(
        [sys.executable, "-m", "worker", *options, *command[3:]],
        cwd=folder,
        env=environment,
        capture_output=True,
    )
    return ended.returncode, find(log.read_text())


def test_the_commands_that_get_it() -> None:
    assert CONFIGMAP == "kubectl create configmap appwrapper-worker --from-file=worker.zip"
    assert RECORDED == "python3 -m worker -- torchrun train.py"


def test_an_exception_is_not_worth_another_try(tmp_path: Path) -> None:
    code, record = recorded(tmp_path, 'raise ValueError("bad shard")')
    assert code == 1
    assert record is not None
    assert (record.code, record.recoverable, record.exit_code) == ("ValueError", False, 1)
    assert record.message.startswith("ValueError: bad shard")


@pytest.mark.parametrize(
    ("program", "recoverable"),
    [
        pytest.param(PROGRAMS[0], True, id="as the page shows"),
        pytest.param("import os; os.kill(os.getpid(), 9)", True, id="a signal"),
        pytest.param("raise SystemExit(3)", True, id="a bare exit code"),
        pytest.param(
            'raise RuntimeError("NCCL error: remote process exited or there was a network error")',
            True,
            id="a lost peer",
        ),
        pytest.param(
            "class Busy(Exception): aw_recoverable = True\nraise Busy", True, id="an attribute"
        ),
        pytest.param(
            "class FlyteRecoverableException(Exception): pass\n"
            "class Busy(FlyteRecoverableException): pass\nraise Busy",
            True,
            id="a subclass of Flyte's",
        ),
        pytest.param(
            PROGRAMS[0].replace("raise RecoverableError", "raise NonRecoverableError"),
            False,
            id="non-recoverable",
        ),
    ],
)
def test_failures_that_are_worth_a_retry(tmp_path: Path, program: str, recoverable: bool) -> None:
    _, record = recorded(tmp_path, program)
    assert record is not None
    assert record.recoverable is recoverable


def test_the_programs_own_exit_code(tmp_path: Path) -> None:
    code, record = recorded(tmp_path, "import sys\nsys.exit(42)\n")
    assert (code, record and record.exit_code) == (42, 42)


@pytest.mark.parametrize(("codes", "recoverable"), [("1", True), ("75", False)])
def test_exit_codes_that_are_worth_another_try(
    tmp_path: Path, codes: str, recoverable: bool
) -> None:
    """Of an exception, which ends a program with 1."""
    option = f"--recoverable-exit-codes={codes}"
    assert "--recoverable-exit-codes=" in TEXT
    code, record = recorded(tmp_path, "raise ValueError", option)
    assert (code, record and record.recoverable) == (1, recoverable)


def test_a_command_that_succeeds_leaves_nothing(tmp_path: Path) -> None:
    assert recorded(tmp_path, "print('fine')") == (0, None)
