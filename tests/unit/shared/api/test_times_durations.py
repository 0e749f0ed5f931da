import contextlib
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.times import DurationError, format_duration, from_nanoseconds, parse_duration


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("0", timedelta(0)),
        ("0s", timedelta(0)),
        ("90s", timedelta(seconds=90)),
        ("1h30m", timedelta(minutes=90)),
        ("1.5h", timedelta(minutes=90)),
        (".5m", timedelta(seconds=30)),
        ("1.s", timedelta(seconds=1)),
        ("500ms", timedelta(milliseconds=500)),
        ("7d", timedelta(days=7)),
        ("1d12h", timedelta(hours=36)),
        ("-10s", timedelta(seconds=-10)),
        ("+10s", timedelta(seconds=10)),
        ("3µs", timedelta(microseconds=3)),
        ("3μs", timedelta(microseconds=3)),
        ("3us", timedelta(microseconds=3)),
        ("1999ns", timedelta(microseconds=1)),
        ("-1999ns", timedelta(microseconds=-1)),
    ],
)
def test_go_durations_and_days_are_read(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize(
    "text", ["", "-", "5", "1x", "s", "1h 30m", " 1s", "1s\n", "1,5h", "1e3s", "٣s", "1h-30m", "1w"]
)
def test_other_texts_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(DurationError) as error:
        parse_duration(text)
    assert str(error.value) == f"{text!r} is not a duration such as 90s, 1h30m or 7d"


def test_a_hostile_text_is_cut_in_the_message() -> None:
    with pytest.raises(DurationError) as error:
        parse_duration("1s" * 10_000)
    assert str(error.value) == (f"{'1s' * 50 + '…'!r} is not a duration such as 90s, 1h30m or 7d")


def test_the_range_is_that_of_go() -> None:
    assert from_nanoseconds(2**63 - 1) == timedelta(microseconds=(2**63 - 1) // 1000)
    for beyond in ("106752d", "-106752d"):
        with pytest.raises(DurationError) as error:
            parse_duration(beyond)
        assert str(error.value) == "the duration is longer than 292 years"


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(0), "0s"),
        (timedelta(days=7), "168h"),
        (timedelta(seconds=90), "1m30s"),
        (timedelta(hours=1, seconds=1.5), "1h1.5s"),
        (timedelta(milliseconds=250), "250ms"),
        (timedelta(microseconds=1500), "1.5ms"),
        (timedelta(microseconds=7), "7us"),
        (timedelta(minutes=-1), "-1m"),
    ],
)
def test_durations_are_written_as_go_reads_them(duration: timedelta, text: str) -> None:
    assert format_duration(duration) == text


@given(st.timedeltas(min_value=timedelta(days=-100_000), max_value=timedelta(days=100_000)))
def test_a_formatted_duration_is_parsed_to_the_same(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration


@given(st.text(max_size=20))
def test_any_text_gives_a_duration_or_its_error(text: str) -> None:
    with contextlib.suppress(DurationError):
        assert isinstance(parse_duration(text), timedelta)
