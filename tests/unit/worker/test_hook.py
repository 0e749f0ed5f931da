"""The recorder's hook in Python processes changes nothing about a program that does not fail."""

import sys
from pathlib import Path

import pytest

from tests.support.recorded import Container


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)


def test_another_sitecustomize_still_runs(container: Container) -> None:
    (container.folder / "site").mkdir()
    (container.folder / "site" / "sitecustomize.py").write_text("import sys; sys.marked = 1")
    code = "import sys, sitecustomize; print(sys.marked, sitecustomize.__file__)"
    ended = container.python(code, PYTHONPATH=str(container.folder / "site"))
    assert ended.stdout == f"1 {container.folder}/site/sitecustomize.py\n"


def test_a_broken_sitecustomize_is_told_as_without_the_recorder(container: Container) -> None:
    (container.folder / "site").mkdir()
    (container.folder / "site" / "sitecustomize.py").write_text("import no_such_module")
    ended = container.python("print(1)", PYTHONPATH=str(container.folder / "site"))
    assert (ended.exit_code, ended.stdout) == (0, "1\n")
    # Once by the recorder's own interpreter, once by the program's.
    assert ended.stderr.count("No module named 'no_such_module'") == 2


def test_sys_exit_can_be_pickled(container: Container) -> None:
    """multiprocessing pickles a target that a new interpreter runs."""
    code = "import pickle, sys; print(pickle.loads(pickle.dumps(sys.exit)) is sys.exit)"
    ended = container.python(code)
    assert (ended.exit_code, ended.stdout) == (0, "True\n")


def test_sys_exit_takes_any_argument(container: Container) -> None:
    """An array's comparison has no truth value."""
    code = (
        "import sys\n"
        "class Array:\n"
        "    def __eq__(self, other): raise ValueError('ambiguous')\n"
        "try: sys.exit(Array())\n"
        "except SystemExit: print('ended')"
    )
    ended = container.python(code)
    assert (ended.exit_code, ended.stdout, ended.stderr) == (0, "ended\n", "")


def test_a_defect_of_the_hook_is_one_line(container: Container) -> None:
    code = "import sys; sys.modules['appwrapper_errors'] = None; raise SystemError('own')"
    ended = container.python(code)
    assert ended.exit_code == 1
    assert "SystemError: own" in ended.stderr
    said = [line for line in ended.stderr.splitlines() if line.startswith("appwrapper worker: an")]
    assert said == [
        "appwrapper worker: an error could not be recorded: ModuleNotFoundError('import of"
        " appwrapper_errors halted; None in sys.modules')"
    ]


def test_the_last_sys_exit_counts(container: Container) -> None:
    code = (
        "import sys\n"
        "try: sys.exit(3)\n"
        "except SystemExit: pass\n"
        "try: sys.exit()\n"
        "except SystemExit: raise SystemExit(5)"
    )
    ended = container.torchrun(code)
    assert ended.record is not None
    assert (ended.exit_code, ended.record.exit_code) == (5, 5)


@pytest.mark.parametrize("flag", ["-I", "-S", "-E"])
def test_a_process_without_the_hook_ends_with_its_own_code(container: Container, flag: str) -> None:
    ended = container.run("--", sys.executable, flag, "-c", "raise KeyError(1)")
    assert ended.exit_code == 1
    assert ended.record is not None
    assert ended.record.code == "EXIT_1"
