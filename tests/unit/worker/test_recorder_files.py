"""The recorder's files: its own folder, temporary ones, the termination log, the store."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.recorded import TORCHRUN, WORKER, Container
from worker.termination_message import find

RAISE = "raise ValueError('bad shard é')"


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)


def test_the_longest_name_of_a_file(container: Container) -> None:
    ended = container.run("--", "sh", "-c", "exit 1", AW_WORKER_NAME="w" * 246)
    assert [path.name for path in ended.stored] == ["error-" + "w" * 246 + ".pb"]


def test_it_runs_as_a_module_too(container: Container) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "worker", "--", "sh", "-c", "exit 7"],
        env={**container.environ, "PYTHONPATH": str(WORKER.parent)},
        cwd=container.folder,
        check=False,
    )
    assert ended.returncode == 7


def test_its_folder_may_have_any_name(container: Container) -> None:
    """`COPY worker /opt/recorder` in a Dockerfile copies what is in the folder."""
    recorder = container.folder / "recorder-1.2"
    shutil.copytree(WORKER, recorder)
    ended = subprocess.run(
        [sys.executable, recorder.name, "--", "sh", "-c", "exit 7"],
        env=container.environ,
        cwd=container.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (7, "")


def test_the_programs_own_termination_log_stays(container: Container) -> None:
    code = "open(sys.argv[1], 'w').write('my own words'); sys.exit(3)"
    ended = container.run("--", sys.executable, "-c", f"import sys; {code}", str(container.log))
    assert ended.log.startswith("my own words\nAWERR1 {")
    assert ended.record is not None


def test_the_last_of_two_recorders_in_a_container_is_read(container: Container) -> None:
    """A script may go on after the first one's command."""
    container.log.write_text("my own words")
    container.run("--", "sh", "-c", "exit 3")
    ended = container.run("--", "sh", "-c", "exit 4")
    assert ended.log.startswith("my own words\nAWERR1 {")
    assert ended.log.count("AWERR1 ") == 1
    assert ended.record is not None
    assert ended.record.exit_code == 4


def test_a_command_that_becomes_another_user_may_report_its_exception(
    container: Container,
) -> None:
    """Entry points do so with gosu, su or setpriv."""
    ended = container.run("--", "sh", "-c", "stat -c %a $_AW_RECORDS")
    assert ended.stdout == ("1777\n" if os.geteuid() == 0 else "700\n")


def test_a_read_only_root_file_system_hides_no_exception(container: Container) -> None:
    recorder = container.folder / "worker"
    shutil.copytree(WORKER, recorder)
    with (recorder / "recorder.py").open("a") as file:
        # No candidate is writable, as with readOnlyRootFilesystem.
        file.write("\n\ntempfile._candidate_tempdir_list = lambda: ['/proc/none']\n")
    subprocess.run(
        [sys.executable, str(recorder), "--", sys.executable, "-c", RAISE],
        env={**container.environ, "TMPDIR": ""},
        cwd=container.folder,
        capture_output=True,
        check=False,
    )
    record = find(container.log.read_text())
    assert record is not None
    assert record.code == "ValueError"


@pytest.mark.parametrize("variable", ["TORCHELASTIC_ERROR_FILE", "AW_TERMINATION_LOG"])
def test_a_file_that_is_a_pipe_is_not_read(container: Container, variable: str) -> None:
    """A user who wants to see it sets /dev/stderr. The recorder would wait for its own words."""
    ended = container.python(RAISE, **{variable: "/dev/stderr"})
    assert ended.exit_code == 1
    assert ended.document.code == "ValueError"
    assert ("AWERR1 {" in ended.stderr) is (variable == "AW_TERMINATION_LOG")


@pytest.mark.parametrize(
    "variables",
    [
        {"AW_TERMINATION_LOG": "/proc/no/such/file"},
        {"AW_ERROR_URI": "/proc/no/such/folder"},
        {"AW_ERROR_URI": "nosuchscheme://bucket/x"},
    ],
    ids=["log", "store", "scheme"],
)
def test_a_record_that_cannot_be_written_changes_no_exit_code(
    container: Container, variables: dict[str, str]
) -> None:
    ended = container.run("--", "sh", "-c", "exit 9", **variables)
    assert ended.exit_code == 9
    assert ended.stderr.startswith("appwrapper worker: the record was not ")
    assert ended.stderr.count("\n") == 1


def test_a_record_that_hardly_fits_changes_no_exit_code(container: Container) -> None:
    code = "import sys; sys.exit(4)"
    ended = container.python(code, AW_WORKER_NAME="w" * 5000, AW_TERMINATION_BUDGET="256")
    assert ended.exit_code == 4
    assert len(ended.log) <= 256


@pytest.mark.parametrize("how", ["module", "folder"])
def test_users_files_replace_no_module_of_the_recorder(container: Container, how: str) -> None:
    """`python train/main.py` does not look for modules here, and so nor does the recorder."""
    recorder = container.folder / "worker"
    shutil.copytree(WORKER, recorder)
    for name in ("random.py", "json.py", "tempfile.py"):
        (container.folder / name).write_text("raise ValueError('a file of the user')")
    start = ["-m", "worker"] if how == "module" else [str(recorder)]
    ended = subprocess.run(
        [sys.executable, *start, "--", "sh", "-c", "exit 7"],
        env=container.environ,
        cwd=container.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (7, "")


@pytest.mark.parametrize("options", [(), ("--no-hook",)])
def test_a_recorder_inside_the_command_knows_why(
    container: Container, options: tuple[str, ...]
) -> None:
    """The image's entry point has a recorder, and so has the command that a user writes for it."""
    inner = (sys.executable, str(WORKER), "--", sys.executable, "-c")
    ended = container.run(*options, "--", *inner, TORCHRUN, "import os; os._exit(42)", "pass")
    record = ended.record
    assert record is not None
    assert (ended.exit_code, record.exit_code, record.rank) == (42, 42, 0)
    assert (ended.document.record_id, ended.stderr.count("worker:")) == (record.record_id, 0)


def test_a_recorder_inside_the_command_explains_no_other_end(container: Container) -> None:
    inner = f"{sys.executable} {WORKER} -- false"
    ended = container.run("--", "sh", "-c", f"{inner} || exit 7")
    assert ended.record is not None
    assert (ended.record.exit_code, ended.document.code) == (7, "EXIT_7")
    assert ended.log.count("AWERR1 ") == 1
