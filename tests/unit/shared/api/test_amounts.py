"""Amounts of resources as people read them."""

from decimal import Decimal

import pytest

from shared.api.amounts import (
    added_up,
    amount_text,
    read_amount,
    read_amounts,
    resource_text,
    resources_text,
)

GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        (GPU, "8", "8"),
        (GPU, "0", "0"),
        ("cpu", "0.5", "0.5"),
        ("cpu", "1.5", "1.5"),
        ("cpu", "26.66666666", "26.667"),
        ("cpu", "1E+3", "1000"),
        ("cpu", "1e30", "1" + 30 * "0"),
        ("memory", "0", "0"),
        ("memory", "512", "512"),
        ("memory", "1000", "1000"),
        ("memory", str(16 * 2**30), "16Gi"),
        ("memory", str(1100 * 2**30), "1100Gi"),
        ("memory", str(8800 * 2**30), "8800Gi"),
        ("memory", str(2**40), "1Ti"),
        ("memory", str(1536 * 2**20), "1.5Gi"),
        ("memory", str(1375 * 2**30 // 10), "137.5Gi"),
        ("memory", "16767021056", "15.6Gi"),
        ("memory", str(2**30 + 1), "1Gi"),
        ("memory", str(2**60 * 10**30), "1" + 30 * "0" + "Ei"),
        ("memory", "-1073741824", "-1Gi"),
        ("ephemeral-storage", "-1024", "-1Ki"),
        ("hugepages-2Mi", str(4 * 2**20), "4Mi"),
    ],
)
def test_an_amount_is_exact_if_that_is_short(resource: str, value: str, text: str) -> None:
    assert amount_text(Decimal(value), resource) == text


def test_an_amount_names_its_resource() -> None:
    assert resource_text(Decimal(8), GPU) == "8 nvidia.com/gpu"
    amounts = {GPU: Decimal(8), "memory": Decimal(2**30)}
    assert resources_text(amounts) == "8 nvidia.com/gpu, 1Gi memory"


def test_a_value_that_is_no_quantity_counts_as_nothing() -> None:
    assert [read_amount(each) for each in (None, "many", "500m", 8)] == [0, 0, Decimal("0.5"), 8]
    assert read_amounts({"cpu": "1", "memory": "much"}) == {"cpu": 1, "memory": 0}
    assert read_amounts(None) == {}


def test_amounts_are_added_up_by_resource() -> None:
    found = added_up([{"cpu": Decimal(1)}, {"cpu": Decimal(2), GPU: Decimal(8)}])
    assert found == {"cpu": 3, GPU: 8}
