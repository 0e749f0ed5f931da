"""The recorder with real, short processes: what it records, and what it leaves alone."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.recorded import WORKER, Container
from worker.record import SYSTEM, UNKNOWN, USER

RAISE = "raise ValueError('bad shard é')"


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)


def test_a_command_that_ends_well_leaves_nothing(container: Container) -> None:
    ended = container.run("--", "sh", "-c", "read x; echo got $x; echo err >&2", stdin="in\n")
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "got in\n", "err\n")
    assert (ended.log, ended.stored) == ("", ())
    assert list(container.temporary.iterdir()) == []


def test_an_exception_is_recorded_in_both_places(container: Container) -> None:
    ended = container.python(RAISE)
    record, document = ended.record, ended.document
    assert ended.exit_code == 1
    assert ended.stderr.endswith("ValueError: bad shard é\n")
    assert [path.name for path in ended.stored] == ["error-train-worker-0.pb"]
    assert record is not None
    assert document.message.splitlines()[:3] == [
        "ValueError: bad shard é",
        "",
        "Traceback (most recent call last):",
    ]
    assert document.message == record.message
    assert (record.code, record.recoverable, record.origin) == ("ValueError", False, USER)
    assert (record.worker, record.pod_uid, record.attempt) == ("train-worker-0", "0b9f", 2)
    assert (record.exit_code, record.signal, record.collateral) == (1, None, False)
    assert record.precision_ns == 0
    assert record.started_ns is not None
    assert record.time_ns is not None
    assert record.started_ns < record.time_ns
    assert record.uri == str(ended.stored[0])
    assert record.record_id == document.record_id != ""
    assert list(container.temporary.iterdir()) == []


def test_four_workers_write_four_files(container: Container) -> None:
    """Case 2: each worker of a job has a file of its own name."""
    for worker in range(4):
        container.python("import sys; sys.exit(1)", AW_WORKER_NAME=f"w-{worker}")
    assert sorted(path.name for path in container.store.iterdir()) == [
        f"error-w-{worker}.pb" for worker in range(4)
    ]


@pytest.mark.parametrize(
    ("script", "exit_code", "killed_by", "code", "message"),
    [
        ("exit 42", 42, None, "EXIT_42", "ended with exit code 42, and reported no error"),
        ("kill -SEGV $$", 139, 11, "SIGSEGV", "killed by SIGSEGV (signal 11)"),
        ("kill -KILL $$", 137, 9, "SIGKILL", "killed by SIGKILL (signal 9)"),
    ],
)
def test_the_exit_code_comes_through(
    container: Container,
    script: str,
    exit_code: int,
    killed_by: int | None,
    code: str,
    message: str,
) -> None:
    ended = container.run("--", "sh", "-c", script)
    record = ended.record
    assert ended.exit_code == exit_code
    assert record is not None
    assert (record.exit_code, record.signal) == (exit_code, killed_by)
    assert (record.code, record.message) == (code, message)
    assert (record.recoverable, record.origin) == (True, UNKNOWN)


@pytest.mark.parametrize(
    ("command", "exit_code", "code", "reason"),
    [
        ("no-such-command", 127, "CommandNotFound", "No such file or directory"),
        ("/", 126, "CommandNotExecutable", "Permission denied"),
    ],
)
def test_a_command_that_cannot_be_started_is_recorded(
    container: Container, command: str, exit_code: int, code: str, reason: str
) -> None:
    ended = container.run("--", command)
    record = ended.record
    assert ended.exit_code == exit_code
    assert ended.stderr == f"appwrapper worker: cannot start {command}: {reason}\n"
    assert record is not None
    assert (record.code, record.exit_code) == (code, exit_code)
    assert record.message == f"cannot start {command}: {reason}"


@pytest.mark.parametrize(
    ("definition", "recoverable"),
    [
        ("from appwrapper_errors import RecoverableError as E", True),
        ("from appwrapper_errors import NonRecoverableError as E", False),
        ("class RecoverableError(Exception): pass\nclass E(RecoverableError): pass", True),
        ("class FlyteRecoverableException(Exception): pass\nE = FlyteRecoverableException", True),
        ("class E(ConnectionError): aw_recoverable = False", False),
        ("class E(Exception): aw_recoverable = True", True),
        ("E = ConnectionResetError", True),
        ("E = KeyError", False),
    ],
)
def test_the_program_decides_whether_a_retry_helps(
    container: Container, definition: str, recoverable: bool
) -> None:
    ended = container.python(f"{definition}\nraise E('x')")
    assert ended.record is not None
    assert ended.record.recoverable is recoverable


def test_control_characters_are_not_recorded(container: Container) -> None:
    code = "E = type('Odd\\nName' + 'x' * 200, (Exception,), {}); raise E('\\0\\x1b[31mred\\x9b')"
    ended = container.python(code)
    assert ended.document.code == "Odd Name" + "x" * 112
    assert ended.document.message.splitlines()[1].endswith(": red")


def test_a_device_fault_is_the_systems(container: Container) -> None:
    ended = container.python("raise RuntimeError('CUDA error: uncorrectable ECC error')")
    assert ended.record is not None
    assert (ended.record.recoverable, ended.record.origin) == (True, SYSTEM)


def test_exit_codes_that_the_user_named_are_recoverable(container: Container) -> None:
    ended = container.python(RAISE, "--recoverable-exit-codes=1,10")
    assert ended.record is not None
    assert ended.record.recoverable


def test_a_subclass_raised_in_a_rank_is_recoverable(container: Container) -> None:
    """Case 8."""
    ended = container.torchrun(
        "pass",
        "from appwrapper_errors import RecoverableError\n"
        "class Mine(RecoverableError): pass\nraise Mine('again')",
    )
    record = ended.record
    assert record is not None
    assert (record.code, record.recoverable, record.rank) == ("Mine", True, 1)
    assert (ended.exit_code, record.precision_ns) == (1, 0)
    # torchrun itself got a file that it can read.
    assert [path.name for path in container.ranks.iterdir()] == ["1.json"]


def test_a_rank_that_dies_of_a_signal(container: Container) -> None:
    """Case 13."""
    ended = container.torchrun("import os; os.kill(os.getpid(), 11)", "pass")
    record = ended.record
    assert record is not None
    assert (record.signal, record.exit_code, record.recoverable) == (11, 139, True)
    assert (record.rank, ended.exit_code) == (0, 139)
    assert record.precision_ns == 1_100_000_000


@pytest.mark.parametrize("call", ["import sys; sys.exit(42)", "import os; os._exit(42)"])
@pytest.mark.parametrize(("choice", "exit_code"), [("root", 42), ("child", 1)])
def test_the_exit_code_of_a_rank(
    container: Container, call: str, choice: str, exit_code: int
) -> None:
    """Case 14: the first failure's code, before a peer that lost its connection."""
    peer = "raise RuntimeError('gloo/transport/tcp/pair.cc: Connection closed by peer')"
    ended = container.torchrun(call, peer, options=(f"--exit-code={choice}",))
    record = ended.record
    assert record is not None
    assert (record.rank, record.exit_code, record.code) == (0, 42, "EXIT_42")
    assert ended.exit_code == exit_code


def test_the_first_of_two_ranks_is_recorded(container: Container) -> None:
    ended = container.torchrun(RAISE, "raise KeyError('second')")
    assert ended.record is not None
    assert (ended.record.rank, ended.record.code) == (0, "ValueError")


def test_a_broken_error_file_is_reported_and_ignored(container: Container) -> None:
    code = (
        "import os, sys; open(os.environ['TORCHELASTIC_ERROR_FILE'], 'w').write('{'); sys.exit(3)"
    )
    ended = container.python(code)
    assert ended.exit_code == 3
    assert "appwrapper worker: an error file is ignored: " in ended.stderr
    assert ended.record is not None
    assert ended.record.code == "EXIT_3"


def test_an_error_file_of_the_users_choice_stays_his(container: Container) -> None:
    path = container.folder / "mine.json"
    ended = container.python(RAISE, TORCHELASTIC_ERROR_FILE=str(path))
    assert path.exists()
    assert ended.record is not None
    assert ended.record.code == "ValueError"


def test_without_the_hook_the_exit_code_is_all_there_is(container: Container) -> None:
    ended = container.python(RAISE, "--no-hook")
    assert ended.record is not None
    assert (ended.record.code, ended.record.recoverable) == ("EXIT_1", True)


def test_the_record_decorator_sees_what_no_hook_sees(container: Container) -> None:
    code = (
        "import sys; from appwrapper_errors import record\n"
        "sys.excepthook = lambda *_: None\n"
        "@record\ndef main(): raise KeyError('x')\nmain()"
    )
    ended = container.python(code)
    assert ended.record is not None
    assert (ended.record.code, ended.stderr) == ("KeyError", "")


def test_a_users_module_named_worker_is_his(container: Container) -> None:
    (container.folder / "worker.py").write_text("mine = 1")
    ended = container.python("import worker; print(worker.mine)")
    assert (ended.exit_code, ended.stdout) == (0, "1\n")


def test_off_runs_the_command_alone(container: Container) -> None:
    ended = container.python(RAISE, AW_ERROR_STRATEGY="off")
    assert (ended.exit_code, ended.log, ended.stored) == (1, "", ())


def test_a_mistake_in_the_options_runs_nothing(container: Container) -> None:
    ended = container.run("--fast", "--", "touch", "ran")
    assert ended.exit_code == 2
    assert ended.stderr.startswith("error: --fast is not understood\n\nusage: ")
    assert not (container.folder / "ran").exists()


def test_a_failure_that_the_command_survived_does_not_explain_its_end(container: Container) -> None:
    """The memory's end of a command must not look like the exception of a check before it."""
    script = 'python="$1"; "$python" -c "raise ValueError(1)"; kill -KILL $$'
    ended = container.run("--", "bash", "-c", script, "-", sys.executable)
    assert ended.exit_code == 137
    assert ended.record is not None
    assert (ended.record.code, ended.record.recoverable) == ("SIGKILL", True)


def test_an_error_file_hides_no_failure(container: Container) -> None:
    """An exit code of 256 is one of 0 for the container."""
    code = (
        "import json, os, sys\n"
        "content = {'message': {'message': 'x', 'extraInfo': {}, 'errorCode': -128}}\n"
        "json.dump(content, open(os.environ['TORCHELASTIC_ERROR_FILE'], 'w'))\n"
        "sys.exit(3)"
    )
    assert container.python(code).exit_code == 3


@pytest.mark.parametrize(
    ("module", "defect", "step"),
    [
        ("environment", "def read(environ): raise KeyError('defect')", "the preparation"),
        ("environment", "def for_command(*_): raise KeyError('defect')", "the preparation"),
        ("signals", "def wait(numbers): raise KeyError('defect')", "the recorder"),
        ("recorder", "def _reports(folder): raise KeyError('defect')", "the record"),
        ("recorder", "Recorder.ended = lambda *_: {}['defect']", "the recorder"),
    ],
)
def test_a_defect_of_the_recorder_changes_no_exit_code(
    container: Container, module: str, defect: str, step: str
) -> None:
    recorder = container.folder / "worker"
    shutil.copytree(WORKER, recorder)
    with (recorder / f"{module}.py").open("a") as file:
        file.write(f"\n\n{defect}\n")
    for code in (0, 9):
        ended = subprocess.run(
            [sys.executable, str(recorder), "--", "sh", "-c", f"echo ran; exit {code}"],
            env=container.environ,
            cwd=container.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (ended.returncode, ended.stdout) == (code, "ran\n")
    assert ended.stderr == f"appwrapper worker: {step} failed: KeyError: 'defect'\n"
