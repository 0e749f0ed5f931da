"""Lines of logs: their times, their cut, their repetition after a new stream, their form."""

import pytest

from cli.logs.lines import (
    LONGEST_LINE,
    LogLine,
    LogSplitter,
    ResumePoint,
    log_line,
    prefix,
    shown,
)


@pytest.mark.parametrize(
    ("raw", "moment", "text"),
    [
        (b"2026-03-02T14:00:00.5Z hi  you", "2026-03-02T14:00:00.500000000Z", "hi  you"),
        (b"2026-03-02T14:00:00.123456789Z ", "2026-03-02T14:00:00.123456789Z", ""),
        (b"2026-03-02T16:00:00+02:00 x", "2026-03-02T14:00:00.000000000Z", "x"),
        (b"0001-01-01T00:00:00+02:00 x", "", "0001-01-01T00:00:00+02:00 x"),
        (b"failed to open log file", "", "failed to open log file"),
        (b"", "", ""),
        (
            b"2026-03-02T14:00:00Z \xff",
            "2026-03-02T14:00:00.000000000Z",
            "\N{REPLACEMENT CHARACTER}",
        ),
    ],
)
def test_a_line_begins_with_its_time(raw: bytes, moment: str, text: str) -> None:
    assert log_line(raw) == LogLine(moment, text)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_lines_do_not_depend_on_the_chunks(size: int) -> None:
    text = b"one\n\ntwo\nthr"
    splitter = LogSplitter()
    found: list[bytes] = []
    for start in range(0, len(text), size):
        found += splitter.feed(text[start : start + size])
    assert (found, splitter.rest()) == ([b"one", b"", b"two"], b"thr")


@pytest.mark.parametrize("size", [7, LONGEST_LINE, 1 << 20])
def test_an_endless_line_is_cut_at_the_same_places(size: int) -> None:
    text = bytes(range(1, 10)) * 15000 + b"\nend\n"
    splitter = LogSplitter()
    found: list[bytes] = []
    for start in range(0, len(text), size):
        found += splitter.feed(text[start : start + size])
    assert [len(each) for each in found] == [
        LONGEST_LINE,
        LONGEST_LINE,
        135000 - 2 * LONGEST_LINE,
        3,
    ]
    assert splitter.rest() == b""


def at(second: int, text: str = "") -> LogLine:
    return LogLine(f"2026-03-02T14:00:{second:02}.000000000Z", text)


def news(point: ResumePoint, *lines: LogLine) -> list[str]:
    return [each.text for each in lines if point.is_new(each)]


def test_another_stream_repeats_no_line_and_loses_none() -> None:
    point = ResumePoint()
    assert news(point, at(1, "a"), at(2, "b"), at(2, "c")) == ["a", "b", "c"]
    assert point.since == at(2).moment
    point.reconnect()
    # The kubelet sends the whole second again. A third line of the same time is new.
    assert news(point, at(1, "a"), at(2, "b"), at(2, "c"), at(2, "d"), at(3, "e")) == ["d", "e"]
    point.reconnect()
    assert news(point, at(3, "e")) == []
    assert news(point, at(4, "f")) == ["f"]


def test_a_stream_that_never_began_repeats_nothing() -> None:
    point = ResumePoint()
    point.reconnect()
    assert (point.since, news(point, at(1, "a"))) == ("", ["a"])


def test_a_clock_that_is_set_back_hides_no_line_within_a_stream() -> None:
    point = ResumePoint()
    assert news(point, at(5, "a"), at(2, "b"), at(6, "c")) == ["a", "b", "c"]


def test_a_line_without_a_time_is_always_new() -> None:
    point = ResumePoint()
    news(point, at(5))
    point.reconnect()
    assert news(point, LogLine("", "failed to open log file")) == ["failed to open log file"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\ttext", "plain\ttext"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]52;c;eA==\x1b\\after", "after"),
        ("10%\r50%\r100%", "100%"),
        ("windows\r", "windows"),
        ("\r", ""),
    ],
)
def test_a_line_shows_text_and_no_terminal_commands(text: str, expected: str) -> None:
    assert shown(LogLine("", text)) == expected


def test_the_time_is_shown_on_request() -> None:
    assert shown(at(1, "x"), timestamps=True) == "2026-03-02T14:00:01.000000000Z x"
    assert shown(LogLine("", "x"), timestamps=True) == "x"


def test_the_prefix_is_aligned_and_coloured_by_rank() -> None:
    assert prefix("r3", 4, None) == "r3   | "
    assert prefix("r3", 2, 1) == "\x1b[33mr3 | \x1b[0m"
    assert prefix("r3", 2, 11) == prefix("r3", 2, 1)
