"""How many test runs a machine carries at once, and how long their time limits are."""

import os

import pytest

from localcluster.machine.slowness import VARIABLE, stretched
from scripts import calibration
from scripts.calibration import MachinePlan, plan


@pytest.mark.parametrize(
    ("slowness", "cores", "at_once", "long_at_once", "workers"),
    [
        (0.5, 2, 4, 4, 3),  # twice as fast: nothing more
        (1.0, 2, 4, 4, 3),
        (1.14, 2, 4, 4, 3),  # as far as two measurements of one machine differ
        (1.15, 2, 3, 4, 3),
        (1.43, 2, 3, 3, 3),
        (1.7, 2, 2, 3, 2),
        (2.1, 2, 2, 2, 2),  # both cores at half speed
        (2.7, 2, 1, 2, 2),
        (9.0, 2, 1, 2, 1),
        (1.0, 1, 2, 2, 2),
        (2.0, 1, 1, 2, 1),
        (1.0, 16, 4, 4, 3),
        (4.0, 16, 4, 4, 3),  # many slow cores
    ],
)
def test_a_slower_machine_runs_fewer_at_once(
    slowness: float, cores: int, at_once: int, long_at_once: int, workers: int
) -> None:
    assert plan(slowness, cores) == MachinePlan(slowness, at_once, long_at_once, workers)


def test_the_measurement_reports_what_it_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "_WORK", "print(3.0)")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    assert str(calibration.measured()) == (
        "this machine needs 2.50 times the reference's time: test runs at once 2 (long ones 2),"
        " workers 2, time limits x 2.50"
    )
    assert str(MachinePlan(0.8, 4, 4, 3)).endswith(
        "test runs at once 4 (long ones 4), workers 3, time limits x 1.00"
    )


def test_the_work_reports_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    monkeypatch.setattr(calibration, "_WORK", calibration._WORK.replace("250", "1"))
    assert calibration.measured().slowness > 0


@pytest.mark.parametrize(
    ("exported", "limit"), [({}, 120.0), ({VARIABLE: "0.80"}, 120.0), ({VARIABLE: "2.25"}, 270.0)]
)
def test_time_limits_grow_on_a_slow_machine_alone(exported: dict[str, str], limit: float) -> None:
    assert stretched(120.0, exported) == limit
