"""How many test runs `make test` and `make test-long` run at once."""

import pytest

from localcluster.machine import slowness
from scripts import calibration, e2e_packages, run_tests
from scripts.calibration import MachinePlan


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
