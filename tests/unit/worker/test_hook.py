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


def test_a_broken_sitecustomize_is_reported_as_without_the_recorder(container: Container) -> None:
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
    lines = [line for line in ended.stderr.splitlines() if line.startswith("appwrapper worker: an")]
    assert lines == [
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


@pytest.mark.parametrize(
    "method",
    [
        "__getattr__(self, name): return self",
        "__getattr__(self, name): raise KeyError(name)",
        "__setattr__(self, name, value): raise KeyError(name)",
        "__str__(self): raise SystemExit(9)",
    ],
)
def test_an_exception_with_methods_of_its_own_is_recorded(
    container: Container, method: str
) -> None:
    """Proxies of remote errors answer for every attribute, or fail for it."""
    ended = container.python(f"class E(Exception):\n    def {method}\nraise E('x')")
    assert ended.record is not None
    assert (ended.exit_code, ended.record.code) == (1, "E")
    assert ended.record.message.splitlines()[0] in ("E: x", "E: <no text: str() failed>")


def test_a_syntax_error_is_named_in_the_first_line(container: Container) -> None:
    ended = container.python("x = = 3")
    assert ended.document.message.splitlines()[:2] == [
        "SyntaxError: invalid syntax (<string>, line 1)",
        "",
    ]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups")
@pytest.mark.parametrize(
    ("group", "code", "recoverable"),
    [
        ("[RecoverableError('x')]", "RecoverableError", True),
        ("[RecoverableError('x'), RecoverableError('y')]", "ExceptionGroup", True),
        ("[RecoverableError('x'), KeyError('y')]", "ExceptionGroup", False),
        ("[KeyError('x'), ExceptionGroup('h', [NonRecoverableError('y')])]", "ExceptionGroup", 0),
        ("[ExceptionGroup('h', [ConnectionResetError('y')])]", "ConnectionResetError", True),
    ],
)
def test_a_group_has_the_messages_of_its_exceptions(
    container: Container, group: str, code: str, recoverable: bool
) -> None:
    """asyncio's TaskGroup raises one also for a single exception."""
    imported = "from appwrapper_errors import NonRecoverableError, RecoverableError"
    ended = container.python(f"{imported}\nraise ExceptionGroup('g', {group})")
    assert ended.record is not None
    assert (ended.record.code, ended.record.recoverable) == (code, bool(recoverable))
    assert "ExceptionGroup: g" in ended.document.message


@pytest.mark.parametrize(
    ("code", "expected", "first_line"),
    [
        ("sys.exit('no data in /data')", ("EXIT_1", 1, True), "no data in /data"),
        ("try: [][0]\nexcept IndexError: sys.exit(3)", ("IndexError", 3, True), "IndexError: list"),
        (
            "try: [][0]\nexcept IndexError as e: sys.exit(f'bad: {e}')",
            ("IndexError", 1, True),
            "bad:",
        ),
        ("try: raise Mine\nexcept Mine: sys.exit(3)", ("Mine", 3, False), "Mine"),
        ("try: [][0]\nexcept IndexError: pass\nsys.exit(3)", ("EXIT_3", 3, True), "ended with"),
        ("try: sys.exit('x')\nexcept SystemExit: sys.exit(3)", ("EXIT_3", 3, True), "ended with"),
    ],
)
def test_a_program_that_ends_itself_has_words_for_it(
    container: Container, code: str, expected: tuple[str, int, bool], first_line: str
) -> None:
    """Hydra, argparse and click catch exceptions, print them, and call sys.exit."""
    mine = "class NonRecoverableError(Exception): pass\nclass Mine(NonRecoverableError): pass\n"
    for record in (
        container.python(f"import sys\n{mine}{code}").record,
        container.torchrun(f"import sys\n{mine}{code}").record,
    ):
        assert record is not None
        assert (record.code, record.exit_code, record.recoverable) == expected
        assert record.message.startswith(first_line)


def test_a_process_without_file_descriptors_is_recorded(container: Container) -> None:
    """DataLoaders run into the soft limit, which containerd sets far below the hard one."""
    code = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (20, 40))\n"
        "files = []\n"
        "while True: files.append(open('/dev/null'))"
    )
    ended = container.python(code)
    assert ended.record is not None
    assert ended.record.message.startswith("OSError: [Errno 24] Too many open files")


def test_the_texts_of_many_ranks_fit_in_one_report(container: Container) -> None:
    peer = "raise RuntimeError('Connection closed by peer' + 'é' * 300_000)"
    ended = container.torchrun("import os; os._exit(42)", peer, peer, peer)
    assert ended.record is not None
    assert (ended.record.rank, ended.exit_code) == (0, 42)
