import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.annotations import AnnotationError, parse_exit_codes, read_exit_codes

EXPECTED = "must be exit codes from 1 to 255 with commas between them, such as 3,10,42"


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("1", {1}),
        ("255", {255}),
        ("3,10,42", {3, 10, 42}),
        (" 3, 10 ,42 ", {3, 10, 42}),
        ("3,3", {3}),
        ("+3,007", {3, 7}),
    ],
)
def test_lists_that_mean_the_same_to_webhook_and_controller(text: str, codes: set[int]) -> None:
    assert parse_exit_codes(text) == codes
    assert read_exit_codes(text) == codes


@pytest.mark.parametrize(
    "text",
    ["", " ", ",", "3,", ",3", "3,,4", "3 4", "3;4", "abc", "3,abc", "0", "256", "-1", "1.0", "0x1",
     "٣", "3,\t4", "9" * 5000],
)  # fmt: skip
def test_each_refused_list_has_an_explanation(text: str) -> None:
    with pytest.raises(AnnotationError) as refused:
        parse_exit_codes(text)
    assert str(refused.value) == EXPECTED


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("", set()),
        ("3,10,abc,42", {3, 10, 42}),
        ("x,10,20", {10, 20}),
        ("3,,4", {3, 4}),
        ("0,256,-1", {0, 256, -1}),
        ("9" * 5000, set()),
    ],
)
def test_the_controller_skips_what_is_no_number(text: str, codes: set[int]) -> None:
    assert read_exit_codes(text) == codes


@settings(deadline=None)  # on a busy machine one example may take long
@given(st.text(alphabet="0123456789, +-x", max_size=30))
def test_controller_and_webhook_read_accepted_lists_alike(text: str) -> None:
    try:
        codes = parse_exit_codes(text)
    except AnnotationError:
        return
    assert read_exit_codes(text) == codes
