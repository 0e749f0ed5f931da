"""What `make test` and its like run, in which order, and how much of it at once."""

import os
import sys
from collections.abc import Callable

import pytest

from localcluster.machine import slowness
from scripts import calibration, e2e_packages, run_tests
from scripts.calibration import MachinePlan
from scripts.parts import Part

Ran = dict[str, list[tuple[str, ...]]]
QUICK = ("--with", "coscheduler,jobset,training-operator")
PYTEST = (sys.executable, "-m", "pytest", "-v")
WORKERS = ("-n", "7")
MEASURED = (
    "this machine needs 1.50 times the reference's time: test runs at once 2, workers 7,"
    " time limits x 1.50\n"
)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    """The commands that were run in turn, and those beside each other. Each succeeds.

    The machine is slow: it carries two runs at once.
    """
    commands: Ran = {}

    def run(parts: list[Part], beside: list[Part], at_once: int, took: object) -> int:
        assert at_once == 2
        assert os.environ[slowness.VARIABLE] == "1.50"
        commands["in turn"] = [part.command for part in parts]
        commands["beside"] = [part.command for part in beside]
        commands["after"] = [(part.name, part.after) for part in beside if part.after]
        return 0

    monkeypatch.setenv(slowness.VARIABLE, "is set again")
    monkeypatch.setattr(calibration, "measured", lambda: MachinePlan(1.5, at_once=2, workers=7))
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
    assert ran["beside"] == [
        (*PYTEST, "tests/integration/exclusive", "-m", "not long"),
        (*PYTEST, *WORKERS, "tests/integration/shared", "-m", "not long"),
        (*PYTEST, "tests/e2e", "-m", "not long"),
        (*PYTEST, "tests/integration/nodes", "-m", "not long"),
        (*PYTEST, "tests/simulation"),
        (*PYTEST, "tests/unit"),
        ("make", "lint"),
    ]
    assert capsys.readouterr().out == MEASURED


def test_make_test_long_runs_the_rest(
    ran: Ran, settles: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    settles("")
    assert run_tests.run("test-long") == 0
    oldest = ("--kueue", "0.16.1")
    assert ran["in turn"] == [
        build("--with", "all", "--real-node", "--torch"),
        build(*oldest, "--beside"),
    ]
    assert ran["beside"] == [
        (*PYTEST, "tests/integration/exclusive", "-m", "long"),
        (*PYTEST, *WORKERS, "tests/integration/shared", "-m", "long"),
        (*PYTEST, "tests/e2e", "-m", "long"),
        (*PYTEST, "tests/integration", "-m", "kueue", *oldest),
        (*PYTEST, "tests/integration/nodes", "-m", "long"),
    ]
    assert ran["after"] == [("nodes", "shared")]
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
        (*PYTEST, "tests/integration/exclusive", "-m", "not long"),
        (*PYTEST, *WORKERS, "tests/integration/shared", "-m", "not long"),
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
    assert (*PYTEST, "tests/e2e", "-m", "long and not torch") in ran["beside"]
    printed = capsys.readouterr().out
    assert printed.startswith("left out: e2e with torchrun (There is no PyTorch.)\n")


def test_make_e2e_fails_where_they_cannot_run(
    ran: Ran, settles: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    settles("It needs root.")
    assert run_tests.run("e2e") == 1
    assert ran == {}
    assert capsys.readouterr().err == "error: e2e cannot run here. It needs root.\n"


@pytest.mark.parametrize(
    ("target", "carried", "expected"),
    [("test", 1, 1), ("test", 4, 4), ("test-long", 1, 2), ("test-long", 3, 3)],
)
def test_long_tests_run_two_at_once_on_the_slowest_machine(
    monkeypatch: pytest.MonkeyPatch, target: str, carried: int, expected: int
) -> None:
    def run(first: object, beside: object, at_once: int, took: object) -> int:
        return at_once

    monkeypatch.setenv(slowness.VARIABLE, "is set again")
    monkeypatch.setattr(e2e_packages, "settle", lambda: ("It needs root.", ()))
    monkeypatch.setattr(calibration, "measured", lambda: MachinePlan(1.0, carried, workers=1))
    monkeypatch.setattr(run_tests, "run_all", run)
    assert run_tests.run(target) == expected
