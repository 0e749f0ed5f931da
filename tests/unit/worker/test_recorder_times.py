"""Which of two moments came first, to the nanosecond: files, signals and the recorder's start."""

import json
import os
import tempfile
import time
from pathlib import Path

import pytest

from worker import environment
from worker.child import Ended, ReceivedSignal
from worker.options import Options
from worker.record import ErrorRecord
from worker.recorder import Recorder
from worker.termination_message import find

S = 10**9
STARTED = 1_795_448_580 * S
PID = 100


class Run:
    """A recorder that began at STARTED, in this process, and the files around it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(time, "time_ns", lambda: STARTED)
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        self.error_file = folder / "error.json"
        self._log = folder / "log"
        self._log.touch()
        environ = {
            "AW_TERMINATION_LOG": str(self._log),
            "TORCHELASTIC_ERROR_FILE": str(self.error_file),
        }
        self._recorder = Recorder(environment.read(environ), Options())
        self.reports = Path(self._recorder.prepare(environ)[environment.RECORDS])

    def end(self, end_signal: ReceivedSignal | None = None) -> tuple[int, ErrorRecord]:
        """Ends the command with exit code 1, after three seconds."""
        exit_code = self._recorder.ended(Ended(PID, 1, STARTED + 3 * S, end_signal))
        record = find(self._log.read_text())
        assert record is not None
        return exit_code, record


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(tmp_path, monkeypatch)


@pytest.mark.parametrize(("age", "code"), [(S, "OSError"), (S + 1, "EXIT_1")])
def test_an_error_file_up_to_a_second_older_than_the_recorder_is_read(
    run: Run, age: int, code: str
) -> None:
    """Some file systems keep times in whole seconds."""
    run.error_file.write_text(json.dumps({"message": "OSError: disk full", "timestamp": "1"}))
    os.utime(run.error_file, ns=(STARTED - age, STARTED - age))
    assert run.end()[1].code == code


@pytest.mark.parametrize(
    ("signalled_after", "collateral", "exit_code"), [(S, True, 1), (S + 1, False, 42)]
)
def test_the_code_of_a_rank_that_failed_after_the_signal_is_not_the_containers(
    run: Run, signalled_after: int, collateral: bool, exit_code: int
) -> None:
    """The rank failed after one second, with exit code 42; its launcher ends with 1."""
    rank = {"rank": 0, "pid": 7, "exitcode": 42, "timestamp": STARTED // S + 1}
    facts = {"pid": PID, "timestamp_ns": STARTED + 2 * S, "failures": [rank]}
    report = {"message": {"message": "ChildFailedError: train.py FAILED", "extraInfo": facts}}
    (run.reports / f"report-{PID}.json").write_text(json.dumps(report))
    code, record = run.end(ReceivedSignal(15, STARTED + signalled_after))
    assert (code, record.collateral, record.exit_code) == (exit_code, collateral, 42)
