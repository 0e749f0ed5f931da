"""Workers side by side: each runs whole files, and nothing is lost with one that dies."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.manifests import ROOT
from tests.support.side_by_side import LONGEST, ByFile, needs_the_cluster, scope_of

PLUGIN = """
from tests.support import side_by_side

def pytest_configure(config):
    if side_by_side.is_runner(config):
        config.pluginmanager.register(side_by_side.Runner(config))
"""
TESTS = {
    "test_dies.py": """
import os

def test_before(): pass

def test_dies(): os._exit(3)

def test_after(): pass
""",
    "test_hangs.py": """
import threading, pytest

@pytest.mark.timeout(1, method="thread")
def test_hangs(): threading.Event().wait(30)

def test_after(): pass
""",
    "test_other.py": """
import os, pytest

WORKERS = set()

@pytest.mark.parametrize("number", range(5))
def test_one_worker_runs_the_file(number):
    WORKERS.add(os.environ["PYTEST_XDIST_WORKER"])
    assert len(WORKERS) == 1
""",
}


def test_a_worker_that_dies_or_hangs_fails_its_test_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(PLUGIN)
    for name, text in TESTS.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        (sys.executable, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", "-rA", "."),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    summary = done.stdout.partition("short test summary info")[2]
    results = sorted(
        (line.split()[1].partition("::")[2].split("[")[0], line.split()[0])
        for line in summary.splitlines()
        if "::" in line
    )
    assert results == [
        ("test_after", "PASSED"),
        ("test_after", "PASSED"),
        ("test_before", "PASSED"),
        ("test_dies", "FAILED"),
        ("test_hangs", "FAILED"),
        *[("test_one_worker_runs_the_file", "PASSED")] * 5,
    ], done.stdout
    assert done.returncode == pytest.ExitCode.TESTS_FAILED


class Worker:
    """What a scheduler sees of one."""

    def __init__(self) -> None:
        self.gateway = SimpleNamespace(id="gw")
        self.sent: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.sent += indices

    def shutdown(self) -> None:
        self.shutting_down = True


def test_a_worker_that_has_not_collected_yet_is_given_nothing() -> None:
    """The second worker dies before the one in the first one's place knows its tests."""
    option = SimpleNamespace(loadscopereorder=False)
    scheduler = ByFile(SimpleNamespace(option=option, getvalue=lambda _: ["popen", "popen"]))
    tests = [f"{file}::test_{number}" for file in ("a.py", "b.py") for number in range(3)]
    first, second, third, fourth = [Worker() for _ in range(4)]
    for worker in (first, second):
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    assert scheduler.remove_node(first) == "a.py::test_0"
    scheduler.add_node(third)
    assert scheduler.remove_node(second) == "b.py::test_0"
    scheduler.add_node(fourth)
    for worker in (third, fourth):
        scheduler.add_node_collection(worker, tests)
        scheduler.schedule()
    assert (first.sent, second.sent) == ([0, 1, 2], [3, 4, 5])
    assert third.sent + fourth.sent == [1, 2, 4, 5]


@pytest.mark.parametrize(
    ("argument", "needed"),
    [
        ("tests", True),
        ("tests/integration", True),
        ("tests/integration/shared/test_quota.py::test_x[a::b]", True),
        ("tests/integration/exclusive", False),
        ("tests/unit", False),
        ("tests/e2e", False),
    ],
)
def test_a_cluster_is_started_where_a_test_may_share_it(argument: str, needed: bool) -> None:
    assert needs_the_cluster([argument], ROOT) is needed
    assert needs_the_cluster(["tests/unit", argument], ROOT) is needed


def test_the_longest_files_are_there() -> None:
    shared = ROOT / "tests" / "integration" / "shared"
    assert [name for name in LONGEST if not (shared / name).exists()] == []


@pytest.mark.parametrize(
    ("nodeid", "scope"),
    [
        ("tests/integration/shared/test_a.py::test_b[a/b::c]", "integration/shared/test_a.py"),
        ("tests/integration/shared/kinds/test_a.py::test_b", "integration/shared/kinds"),
        ("tests/integration/shared/kinds/test_b.py::test_b", "integration/shared/kinds"),
        ("tests/unit/test_a.py::TestB::test_c", "tests/unit/test_a.py"),
    ],
)
def test_one_worker_runs_a_file_or_a_folder_of_what_is_shared(nodeid: str, scope: str) -> None:
    assert scope_of(nodeid) == scope
