import contextlib
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.quantities import QuantityError, parse_quantity

EXAMPLE = "not a quantity such as 8, 500m or 16Gi"


# Each was read by the API server's own decoder (apimachinery 0.36) with the same result.
@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("8", "8"),
        ("0", "0"),
        ("+007", "7"),
        ("-1", "-1"),
        ("1.", "1"),
        (".5", "0.5"),
        ("500m", "0.5"),
        ("1n", "1e-9"),
        ("1u", "1e-6"),
        ("2k", "2e3"),
        ("2M", "2e6"),
        ("2G", "2e9"),
        ("2T", "2e12"),
        ("2P", "2e15"),
        ("2E", "2e18"),
        ("2Ki", "2048"),
        ("1.5Mi", "1572864"),
        ("1Gi", "1073741824"),
        ("1Ti", "1099511627776"),
        ("1Pi", "1125899906842624"),
        ("1Ei", "1152921504606846976"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("1e+003", "1000"),
        ("25E-1", "2.5"),
        (" 1\u00a0", "1"),
        (8, "8"),
        (1.5, "1.5"),
        (1e22, "1e22"),
        (-3, "-3"),
        # A missing number is zero.
        ("k", "0"),
        ("+", "0"),
        ("-.", "0"),
        ("e3", "0"),
        ("e-9", "0"),
        ("Ti", "0"),
    ],
)
def test_quantities_are_read_as_kubernetes_does(value: Any, number: str) -> None:
    assert parse_quantity(value) == Decimal(number)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1e-10", "1e-9"),
        ("-1e-999", "-1e-9"),
        ("1.0000000001", "1.000000001"),
        ("0.0000000010", "1e-9"),
        ("0e-999", "0"),
        ("7Ei", str(7 * 2**60)),
        ("8Ei", str(2**63 - 1)),
        ("-9Ei", str(1 - 2**63)),
        ("1e999", "1e999"),
        ("9" * 1000, "9" * 1000),
        ("9" * 990 + "e999", "9" * 990 + "e999"),
    ],
)
def test_too_fine_or_too_large_quantities_are_bounded_as_in_kubernetes(
    text: str, number: str
) -> None:
    assert parse_quantity(text) == Decimal(number)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("", f"'' is {EXAMPLE}"),
        ("many", f"'many' is {EXAMPLE}"),
        ("1 Gi", f"'1 Gi' is {EXAMPLE}"),
        ("1gi", f"'1gi' is {EXAMPLE}"),
        ("1K", f"'1K' is {EXAMPLE}"),
        ("1e", f"'1e' is {EXAMPLE}"),
        ("1e+", f"'1e+' is {EXAMPLE}"),
        ("1Gi2", f"'1Gi2' is {EXAMPLE}"),
        ("1.2.3", f"'1.2.3' is {EXAMPLE}"),
        ("--1", f"'--1' is {EXAMPLE}"),
        ("1,5", f"'1,5' is {EXAMPLE}"),
        ("0x10", f"'0x10' is {EXAMPLE}"),
        ("\u0661", f"'\u0661' is {EXAMPLE}"),
        ("1\n", f"'1\\n' is {EXAMPLE}"),  # JSON escapes it, and the decoder does not unescape
        ("e-10", f"'e-10' is {EXAMPLE}"),
        ("Pi", f"'Pi' is {EXAMPLE}"),
        ("-.Ei", f"'-.Ei' is {EXAMPLE}"),
        (float("inf"), f"inf is {EXAMPLE}"),
        (True, f"a boolean is {EXAMPLE}"),
        (None, f"null is {EXAMPLE}"),
        ([8], f"an array is {EXAMPLE}"),
        ({}, f"an object is {EXAMPLE}"),
        ("x" * 200, f"'{'x' * 99}… is {EXAMPLE}"),
        ("1e1000", "'1e1000' is out of range: the exponent must be from -999 to 999"),
        ("1e-1000", "'1e-1000' is out of range: the exponent must be from -999 to 999"),
        ("1e999999999", "'1e999999999' is out of range: the exponent must be from -999 to 999"),
        ("9" * 1001, f"'{'9' * 99}… is longer than 1000 characters"),
    ],
)
def test_everything_else_is_refused_with_what_it_is(value: Any, message: str) -> None:
    with pytest.raises(QuantityError) as refused:
        parse_quantity(value)
    assert str(refused.value) == message


@given(st.text(alphabet="0123456789.+-eEinumkKMGTP ", max_size=20))
def test_any_text_is_a_number_or_an_error(text: str) -> None:
    with contextlib.suppress(QuantityError):
        assert parse_quantity(text).is_finite()


@given(st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_means_what_its_text_does(number: float) -> None:
    assert parse_quantity(number) == parse_quantity(repr(number))


@given(st.integers(0, 10**6), st.sampled_from(["", "m", "k", "M", "Gi", "e2"]))
def test_a_sign_turns_the_amount_round(number: int, suffix: str) -> None:
    assert parse_quantity(f"-{number}{suffix}") == -parse_quantity(f"{number}{suffix}")


@given(st.integers(1, 10**6), st.sampled_from(["n", "u", "m", "", "k", "E", "Ki", "Pi", "e-30"]))
def test_a_positive_quantity_is_never_zero(number: int, suffix: str) -> None:
    assert parse_quantity(f"{number}{suffix}") > 0
