"""Single values, from both sides of each limit."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.quantities import QuantityError, parse_quantity
from shared.pod_schema.pod_schema import BY_NOTATION, QUANTITY

WHOLE = "must be a whole number"
EXACT = "must be a whole number, without fraction and exponent"
TIME = "must be a time such as 2026-01-31T12:00:00Z"


@pytest.mark.parametrize(
    ("notation", "value"),
    [
        ("int32", 0),
        ("int32", -(2**31)),
        ("int32", 2**31 - 1),
        ("int64", -(2**63)),
        ("int64", 2**63 - 1),
        ("number", 1),
        ("number", 1.5),
        ("int-or-string", 80),
        ("quantity", 8),
        ("quantity", 0.5),
        ("quantity", "1.5Gi"),
        ("quantity", " 1 "),
        ("time", "2026-01-31T12:00:00Z"),
        ("time", "2024-02-29T23:59:59.123456789+23:59"),
        ("time", "0000-02-29T00:00:00-00:00"),
        ("time", "2026-01-31T1:00:00,5Z"),  # as Go reads it
        ("time", "2026-01-31T12:00:00+24:60"),
        ("base64", ""),
        ("base64", "YQ=\r\n="),
        *(("anything", value) for value in (1, 1.5, "x", True, [1], {"a": 1})),
    ],
)
def test_accepted_values_of_each_notation(notation: str, value: Any) -> None:
    assert BY_NOTATION[notation].fault(value) is None


@pytest.mark.parametrize(
    ("notation", "value", "detail", "shown"),
    [
        ("string", 5, "must be a string, but is a number; put it in quotes", None),
        ("string", True, "must be a string, but is a boolean; put it in quotes", None),
        ("string", ["x"], "must be a string, but is an array", None),
        (
            "boolean",
            "true",
            "must be true or false, but is a string; write it without quotes",
            None,
        ),
        ("boolean", "yes", "must be true or false, but is a string", None),
        ("boolean", 1, "must be true or false, but is a number", None),
        ("int32", 2**31, "must be from -2147483648 to 2147483647", "2147483648"),
        ("int32", -(2**31) - 1, "must be from -2147483648 to 2147483647", "-2147483649"),
        ("int64", 2**63, f"must be from -{2**63} to {2**63 - 1}", str(2**63)),
        ("int32", 1.0, EXACT, "1.0"),
        ("int64", 1.5, EXACT, "1.5"),
        ("int32", True, f"{WHOLE}, but is a boolean", None),
        ("int32", "-80", f"{WHOLE}, but is a string; write it without quotes", None),
        ("int32", "http", f"{WHOLE}, but is a string", None),
        ("int32", [], f"{WHOLE}, but is an array", None),
        ("number", "1", "must be a number, but is a string", None),
        ("number", False, "must be a number, but is a boolean", None),
        ("int-or-string", 2**31, "must be from -2147483648 to 2147483647", "2147483648"),
        ("int-or-string", 1.5, EXACT, "1.5"),
        ("int-or-string", True, f"{WHOLE} or a string, but is a boolean", None),
        ("quantity", "1Gb", "'1Gb' is not a quantity such as 8, 500m or 16Gi", None),
        ("quantity", True, "a boolean is not a quantity such as 8, 500m or 16Gi", None),
        ("time", 5, TIME, None),
        ("time", "", TIME, '""'),
        ("time", "yesterday", TIME, '"yesterday"'),
        ("base64", "YQ", "must be base64", None),
        ("base64", "Y-==", "must be base64", None),
        ("base64", 1, "must be a string in base64, but is a number", None),
    ],
)
def test_refused_values_of_each_notation(
    notation: str, value: Any, detail: str, shown: str | None
) -> None:
    assert BY_NOTATION[notation].fault(value) == (detail, shown)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-01-31t12:00:00z",
        "2026-01-31 12:00:00Z",
        "2026-1-31T12:00:00Z",
        "2026-00-31T12:00:00Z",
        "2026-13-31T12:00:00Z",
        "2026-01-00T12:00:00Z",
        "2026-02-29T12:00:00Z",
        "2026-04-31T12:00:00Z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:60:00Z",
        "2026-01-31T12:00:60Z",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00+0100",
        "2026-01-31T12:00:00+25:00",
        "2026-01-31T12:00:00+00:61",
        "2026-01-31T12:00:00Z ",
        "٢٠٢٦-01-31T12:00:00Z",  # digits, but not RFC 3339's
    ],
)
def test_malformed_times_are_refused(text: str) -> None:
    assert BY_NOTATION["time"].fault(text) == (TIME, f'"{text}"')


@given(st.text(st.sampled_from("0123456789.+-eEmkKMGin "), max_size=8))
def test_the_short_way_to_a_quantity_accepts_nothing_else(text: str) -> None:
    fault = QUANTITY.fault(text)
    if fault is None:
        parse_quantity(text)
    else:
        with pytest.raises(QuantityError, match=f"^{re.escape(fault.detail)}$"):
            parse_quantity(text)
