"""How amounts are written."""

from decimal import Decimal

import pytest

from cli.checks.amounts import shown


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("nvidia.com/gpu", "8", "8"),
        ("cpu", "0.5", "0.5"),
        ("cpu", "26.66666666", "26.667"),
        ("cpu", "100", "100"),
        ("memory", str(1100 * 2**30), "1100Gi"),
        ("memory", str(2**40), "1Ti"),
        ("memory", str(1375 * 2**30 // 10), "137.5Gi"),
        ("memory", str(2**30 + 1), "1Gi"),
        ("memory", "512", "512"),
        ("memory", "0", "0"),
        ("cpu", "1e30", "1" + 30 * "0"),
        ("memory", str(2**40 * 10**30), "1" + 30 * "0" + "Ti"),
    ],
)
def test_as_people_write_it(resource: str, value: str, text: str) -> None:
    assert shown(resource, Decimal(value)) == text
