import pytest

from shared.annotations import AnnotationError, parse_retry_limit, read_retry_limit


@pytest.mark.parametrize(
    ("text", "limit"), [("0", 0), ("5", 5), ("+5", 5), ("005", 5), ("2147483647", 2**31 - 1)]
)
def test_limits_that_mean_the_same_to_webhook_and_controller(text: str, limit: int) -> None:
    assert parse_retry_limit(text) == limit
    assert read_retry_limit(text, 3) == limit


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("", 3),
        ("many", 3),
        ("1.0", 3),
        ("1_000", 3),
        (" 5", 3),
        ("٣", 3),
        ("9" * 5000, 3),
        ("-1", 0),
        ("2147483648", 2**31 - 1),
        ("-9999999999", 0),
    ],
)
def test_the_controller_reads_limits_that_the_webhook_refuses(text: str, read: int) -> None:
    with pytest.raises(AnnotationError) as refused:
        parse_retry_limit(text)
    assert str(refused.value) == "must be a whole number from 0 to 2147483647, such as 5"
    assert read_retry_limit(text, 3) == read
