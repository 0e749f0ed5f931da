"""Run a command, and record the earliest failure in this container if it fails."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from typing import TYPE_CHECKING

from worker import child, environment, error_document, signals
from worker.error_texts import is_device_fault, printable
from worker.failure import Failure, Report, first_failure, is_recoverable
from worker.record import SYSTEM, UNKNOWN, USER, ErrorRecord
from worker.stderr import say
from worker.termination_log import TerminationLog
from worker.torch_errors import BadErrorFile, parse
from worker.upload import UploadFailed, upload

if TYPE_CHECKING:
    from worker.environment import Environment
    from worker.options import Options

_LARGEST_FILE = 4 * 1024 * 1024
_LONGEST_MESSAGE = 262_144
_LONGEST_CODE = 120
_TORCHRUNS_SIGNAL = "SignalException"
NOT_EXECUTABLE, NOT_FOUND = 126, 127


def run(command: list[str], environ: dict[str, str], mask: set[int], options: Options) -> int:
    """Run `command` and return the exit code of the container.

    A command that cannot be started gives 127 or 126, as in a shell, and a record.
    """
    recorder: Recorder | None = None
    added = environ
    with _safely("the preparation"):
        worker = environment.read(environ)
        if not worker.off:
            recorder = Recorder(worker, options)
            added = recorder.prepare(environ)
    if recorder is None:
        return _become(command, mask)
    try:
        process = child.start(command, added, mask)
    except OSError as error:
        return recorder.not_started(command[0], error)
    exit_code: int | None = None
    with _safely("the recorder"):
        exit_code = recorder.ended(child.wait(process, recorder.end_signalled))
    return shell_code(process.wait()) if exit_code is None else exit_code


class Recorder:
    """Collects the facts of one run of a command, from before its start to its record."""

    def __init__(self, worker: Environment, options: Options) -> None:
        self._worker = worker
        self._options = options
        self._log = TerminationLog(worker.termination_log, worker.budget)
        self._started_ns = time.time_ns()
        self._folder = ""
        self._error_file = ""

    def prepare(self, environ: dict[str, str]) -> dict[str, str]:
        """Return the command's environment; without a place for temporary files, the given one."""
        try:
            self._folder = _make_folder()
        except OSError as error:
            say(f"exceptions are not recorded: no folder for them: {error}")
            return environ
        added = environment.for_command(environ, self._folder, self._options.hook)
        self._error_file = added[environment.TORCH_ERROR_FILE]
        return added

    def end_signalled(self, pid: int, end_signal: child.ReceivedSignal) -> None:
        """Record at once what is known: the kubelet may soon kill the whole container."""
        end = Failure(end_signal.time_ns, status=-end_signal.signal)
        with _safely("the record"):
            failure = self._first(pid, end)
            self._write_log(self._record(failure, end_signal, end.status or 0))

    def ended(self, ended: child.Ended) -> int:
        """Record the failure if there is one, and return the exit code of the container."""
        exit_code = shell_code(ended.status)
        with _safely("the record"):
            if ended.status == 0:
                self._log.withdraw()
            else:
                exit_code = self._failed(ended, exit_code)
        self._clean_up()
        return exit_code

    def _failed(self, ended: child.Ended, exit_code: int) -> int:
        """Record the failure; return the container's exit code, which is `exit_code` or its own."""
        end = Failure(ended.time_ns, rank=self._worker.rank, status=ended.status)
        failure = self._first(ended.pid, end)
        if failure is end and self._log.explains(exit_code, self._started_ns):
            return exit_code  # a recorder inside the command knows why, and has recorded it
        record = self._record(failure, ended.end_signal, ended.status)
        with _safely("the record"):
            self._write(record)
        if self._options.root_code and not record.collateral:
            return record.exit_code or exit_code
        return exit_code

    def not_started(self, name: str, error: OSError) -> int:
        """Record that the command cannot be started, and return its exit code."""
        exit_code = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
        message = f"cannot start {name}: {error.strerror or error}"
        say(message)
        code = "CommandNotFound" if exit_code == NOT_FOUND else "CommandNotExecutable"
        with _safely("the record"):
            failure = Failure(time.time_ns(), code=code, message=message, status=exit_code)
            self._write(self._record(failure, None, exit_code))
        self._clean_up()
        return exit_code

    def _first(self, pid: int, end: Failure) -> Failure:
        reports = _reports(self._folder) if self._folder else []
        return first_failure(reports, self._own_error_file(), pid, end)

    def _own_error_file(self) -> Report | None:
        """Return what torchrun's @record wrote for the command, unless it is from before it."""
        # /dev/stderr is no file that ends: the recorder itself holds it open.
        if not os.path.isfile(self._error_file):
            return None
        if os.stat(self._error_file).st_mtime_ns < self._started_ns - 1_000_000_000:
            return None
        report = _read_report(self._error_file)
        # torchrun's @record writes the signal that ended it as if it were an error.
        return None if report and report.failure.code == _TORCHRUNS_SIGNAL else report

    def _record(
        self, failure: Failure, end_signal: child.ReceivedSignal | None, status: int
    ) -> ErrorRecord:
        collateral = end_signal is not None and failure.time_ns >= end_signal.time_ns
        if failure.status is None:
            exit_code = shell_code(status)
        else:
            exit_code = shell_code(failure.status) or shell_code(status)
        code, message = _words(failure, exit_code)
        if end_signal is not None and collateral:
            code = signal.Signals(end_signal.signal).name
            message = f"asked to end by {code}, and {message}"
        return ErrorRecord(
            code=" ".join(printable(code).split())[:_LONGEST_CODE],
            message=printable(_bounded(message)),
            recoverable=collateral
            or is_recoverable(failure, exit_code, self._options.recoverable_codes),
            origin=_origin(failure, collateral),
            time_ns=failure.time_ns or None,
            worker=self._worker.worker,
            pod_uid=self._worker.pod_uid,
            attempt=self._worker.attempt,
            rank=failure.rank,
            exit_code=exit_code,
            signal=_signal(failure),
            collateral=collateral,
            precision_ns=failure.precision_ns,
            started_ns=self._started_ns,
            record_id=os.urandom(8).hex(),
            uri="" if collateral else self._worker.error_uri,
        )

    def _write(self, record: ErrorRecord) -> None:
        self._write_log(record)
        if not record.uri:
            return
        try:
            upload(record.uri, error_document.encode(record))
        except UploadFailed as error:
            say(f"the record was not stored at {record.uri}: {error}")

    def _write_log(self, record: ErrorRecord) -> None:
        try:
            self._log.write(record)
        except OSError as error:
            say(f"the record was not written to the termination log: {error}")

    def _clean_up(self) -> None:
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


def _make_folder() -> str:
    """Return a new folder for the reports of the command's processes. Raises OSError."""
    try:
        folder = tempfile.mkdtemp(prefix="aw-worker-")
    except OSError:
        # Writable although the container's root file system is read-only.
        folder = tempfile.mkdtemp(prefix="aw-worker-", dir="/dev/shm")
    if os.geteuid() == 0:
        # An entry point may become another user before it runs the program.
        os.chmod(folder, 0o1777)
    return folder


def _become(command: list[str], mask: set[int]) -> int:
    """Replace this process by the command, as if there were no recorder; return if it fails."""
    signals.release(mask)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        say(f"cannot start {command[0]}: {error.strerror}")
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE


def shell_code(status: int) -> int:
    """Return a status as a shell does: 128 and the signal's number for a killed process."""
    return (128 - status if status < 0 else status) & 0xFF


def _words(failure: Failure, exit_code: int) -> tuple[str, str]:
    """Return the record's code and message."""
    if failure.message:
        return failure.code or "Error", failure.message
    number = _signal(failure)
    if number is None:
        return f"EXIT_{exit_code}", f"ended with exit code {exit_code}, and reported no error"
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"SIG{number}"
    return name, f"killed by {name} (signal {number})"


def _signal(failure: Failure) -> int | None:
    return -failure.status if failure.status is not None and failure.status < 0 else None


def _origin(failure: Failure, collateral: bool) -> str:
    if collateral or is_device_fault(failure.message):
        return SYSTEM
    return USER if failure.message else UNKNOWN


def _bounded(text: str) -> str:
    if len(text) <= _LONGEST_MESSAGE:
        return text
    head = _LONGEST_MESSAGE // 4
    return text[:head] + "\n[... cut ...]\n" + text[head - _LONGEST_MESSAGE :]


def _reports(folder: str) -> list[Report]:
    """Return what the exception hooks wrote, without the files that cannot be read."""
    names = [name for name in os.listdir(folder) if name.startswith("report-")]
    names = [name for name in names if name.endswith(".json")]
    found = (_read_report(os.path.join(folder, name)) for name in names)
    return [report for report in found if report is not None]


def _read_report(path: str) -> Report | None:
    """Return the report in a file; None, and a line on stderr, if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return parse(file.read(_LARGEST_FILE))
    except (OSError, BadErrorFile) as error:
        say(f"an error file is ignored: {path}: {error}")
        return None


@contextlib.contextmanager
def _safely(what):  # type: ignore[no-untyped-def]
    """Report a defect of the recorder instead of raising it: the exit code must come through."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  (the command's exit code must come through)
        say(f"{what} failed: {type(error).__name__}: {error}")
