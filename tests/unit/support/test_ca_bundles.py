"""Which caBundle an API server that learns late would certainly have."""

import pytest

from tests.support.ca_bundles import Reading, surely

OLD, NEW = b"old", b"new"
READINGS = [Reading(1.0, 1.2, OLD), Reading(2.0, 2.2, OLD), Reading(3.0, 3.2, NEW)]


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        pytest.param(1.2, 2.0, OLD, id="between two equal answers"),
        pytest.param(1.1, 2.0, None, id="before the first answer"),
        pytest.param(2.2, 3.0, None, id="between two answers that differ"),
        pytest.param(1.2, 3.0, None, id="a change on the way"),
        pytest.param(3.2, 3.2, None, id="after the last question"),
    ],
)
def test_a_bundle_is_certain_between_equal_answers_only(
    begin: float, end: float, expected: bytes | None
) -> None:
    assert surely(READINGS, begin, end) == expected
