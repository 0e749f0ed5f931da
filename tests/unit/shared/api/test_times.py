from datetime import UTC, datetime, timedelta, timezone

import pytest

from shared.api.times import format_precise_time, format_time, parse_time

MOMENT = datetime(2026, 1, 31, 10, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))


def test_writing_is_in_utc() -> None:
    assert format_time(MOMENT) == "2026-01-31T08:00:00Z"
    assert format_precise_time(MOMENT) == "2026-01-31T08:00:00.000005Z"


def test_reading_either_form() -> None:
    assert parse_time("2026-01-31T08:00:00.000005Z") == MOMENT
    assert parse_time("2026-01-31T10:00:00+02:00") == datetime(2026, 1, 31, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2026-01-31T08:00:00", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"],
)
def test_a_malformed_time_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"Invalid isoformat|no offset from UTC|no time in UTC"):
        parse_time(text)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:01Z", "0999-12-31T23:59:59Z"])
def test_a_year_has_four_digits(text: str) -> None:
    """Anybody may write such a time into a status, from where it is copied."""
    assert format_time(parse_time(text)) == text
    assert format_precise_time(parse_time(text)) == text.replace("Z", ".000000Z")
