"""How many test runs `make test` and `make test-long` run at once."""

import pytest

from scripts.run_tests import at_once


@pytest.mark.parametrize(
    ("target", "carried", "expected"),
    [("test", 1, 1), ("test", 4, 4), ("test-long", 1, 2), ("test-long", 3, 3)],
)
def test_long_tests_run_two_at_once_on_the_slowest_machine(
    target: str, carried: int, expected: int
) -> None:
    assert at_once(target, carried) == expected
