"""What `make test` and its like run, in which order, and how much of it at once."""

import os
import sys
from collections.abc import Callable

import pytest

from localcluster.machine import slowness
from scripts import calibration, e2e_packages, run_tests
from scripts.calibration import MachinePlan
from scripts.parts import Part
from tests.support.manifests import ROOT

Ran = dict[str, list[tuple[str, ...]]]
QUICK = ("--with", "coscheduler,jobset,training-operator")
PYTEST = (sys.executable, "-m", "pytest", "-v")
WORKERS = ("-n", "7")
NODES = "tests/integration/nodes"
INSTALLING = "tests/e2e/test_install_page.py"
MEASURED = (
    "this machine needs 1.50 times the reference's time: test runs at once 2 (long ones 3),"
    " workers 7, time limits x 1.50\n"
)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    """The commands that were run in turn, and those beside each other. Each succeeds.

    The machine is slow: it carries two runs at once.
    """
    commands: Ran = {}

    def run(parts: list[Part], beside: list[Part], at_once: int, took: object) -> int:
        assert os.environ[slowness.VARIABLE] == "1.50"
        commands["in turn"] = [part.command for part in parts]
        commands["beside"] = [part.command for part in beside]
        commands["background"] = [part.command for part in beside if part.background]
        return 0

    monkeypatch.setenv(slowness.VARIABLE, "is set again")
    monkeypatch.setattr(calibration, "measured", lambda: MachinePlan(1.5, 2, 3, 7))
    monkeypatch.setattr(run_tests, "run_all", run)
    return commands


@pytest.fixture
def settles(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Says whether e2e can run, and whether torchrun can; empty where they can."""

    def say(left_out: str, without_torch: str = "") -> None:
        monkeypatch.setattr(e2e_packages, "settle", lambda: (left_out, ()))
        monkeypatch.setattr(e2e_packages, "without_torch", lambda: without_torch)

    return say


def build(*options: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "localcluster", "build", *options)


def test_make_test_runs_what_shares_a_cluster_beside_what_does_not(
    ran: Ran, settles: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    settles("")
    assert run_tests.run("test") == 0
    assert ran["in turn"] == [build(*QUICK, "--real-node")]
    computing = [(*PYTEST, "tests/simulation"), (*PYTEST, "tests/unit"), ("make", "lint")]
    assert ran["beside"] == [
        (*PYTEST, *WORKERS, "tests/integration/shared", "-m", "not long"),
        (*PYTEST, "tests/integration/exclusive", "-m", "not long"),
        (*PYTEST, "tests/e2e", "-m", "not long"),
        (*PYTEST, "tests/integration/nodes", "-m", "not long"),
        *computing,
    ]
    assert ran["background"] == computing
    assert capsys.readouterr().out == MEASURED


def test_make_test_long_runs_the_rest(
    ran: Ran, settles: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    settles("")
    assert run_tests.run("test-long") == 0
    oldest = ("--kueue", "0.16.1")
    longest = run_tests.LONGEST_EXCLUSIVE
    but_not = [f"--ignore={file}" for file in longest]
    assert ran["in turn"] == [
        build("--with", "all", "--real-node", "--torch"),
        build(*oldest, "--beside"),
    ]
    assert ran["beside"] == [
        (*PYTEST, "tests/integration/exclusive", *but_not, "-m", "long"),
        (*PYTEST, *longest, "-m", "long"),
        (*PYTEST, "tests/e2e", f"--ignore={INSTALLING}", "-m", "long"),
        (*PYTEST, INSTALLING, "-m", "long"),
        (*PYTEST, "tests/integration/exclusive", NODES, "-m", "kueue", *oldest),
        (*PYTEST, NODES, "-m", "long"),
        (*PYTEST, "tests/integration/shared", "-m", "kueue", *oldest),
        (*PYTEST, *WORKERS, "tests/integration/shared", "-m", "long"),
    ]
    assert ran["background"] == []
    assert capsys.readouterr().out == MEASURED


@pytest.mark.parametrize("target", ["test", "test-long"])
def test_e2e_is_left_out_aloud(
    target: str, ran: Ran, settles: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    settles("It needs root.")
    assert run_tests.run(target) == 0
    components = QUICK if target == "test" else ("--with", "all")
    assert build(*components) in ran["in turn"]
    assert not [command for command in ran["beside"] if "tests/e2e" in command]
    assert capsys.readouterr().out.startswith("left out: e2e (It needs root.)\n")


def test_make_integration_needs_no_node(ran: Ran) -> None:
    """It does not check whether a node is possible."""
    assert run_tests.run("integration") == 0
    assert ran["in turn"] == [build(*QUICK)]
    assert ran["beside"] == [
        (*PYTEST, *WORKERS, "tests/integration/shared", "-m", "not long"),
        (*PYTEST, "tests/integration/exclusive", "-m", "not long"),
        (*PYTEST, "tests/integration/nodes", "-m", "not long"),
    ]


def test_make_e2e_runs_all_of_them_alone(ran: Ran, settles: Callable[..., None]) -> None:
    settles("")
    assert run_tests.run("e2e") == 0
    components = ("--with", "cert-manager,training-operator")
    assert ran["in turn"] == [build(*components, "--real-node", "--torch")]
    assert ran["beside"] == [
        (*PYTEST, "tests/e2e", "-m", "not long"),
        (*PYTEST, "tests/e2e", "-m", "long"),
    ]


@pytest.mark.parametrize("target", ["test-long", "e2e"])
def test_torchrun_alone_is_left_out_aloud(
    target: str, ran: Ran, settles: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    settles("", "There is no PyTorch.")
    assert run_tests.run(target) == 0
    assert not [command for command in ran["in turn"] if "--torch" in command]
    on_the_node = [command for command in ran["beside"] if "tests/e2e" in command]
    assert {command[-1] for command in on_the_node} - {"not long"} == {"long and not torch"}
    printed = capsys.readouterr().out
    assert printed.startswith("left out: e2e with torchrun (There is no PyTorch.)\n")


def test_make_e2e_fails_where_they_cannot_run(
    ran: Ran, settles: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    settles("It needs root.")
    assert run_tests.run("e2e") == 1
    assert ran == {}
    assert capsys.readouterr().err == "error: e2e cannot run here. It needs root.\n"


@pytest.mark.parametrize("file", [*run_tests.LONGEST_EXCLUSIVE, INSTALLING])
def test_a_file_with_a_run_of_its_own_exists(file: str) -> None:
    assert (ROOT / file).is_file()


@pytest.mark.parametrize(("target", "expected"), [("test", 1), ("test-long", 2)])
def test_more_of_the_long_tests_run_at_once(
    monkeypatch: pytest.MonkeyPatch, target: str, expected: int
) -> None:
    def run(first: object, beside: object, at_once: int, took: object) -> int:
        return at_once

    monkeypatch.setenv(slowness.VARIABLE, "is set again")
    monkeypatch.setattr(e2e_packages, "settle", lambda: ("It needs root.", ()))
    monkeypatch.setattr(calibration, "measured", lambda: MachinePlan(1.0, 1, 2, 1))
    monkeypatch.setattr(run_tests, "run_all", run)
    assert run_tests.run(target) == expected
