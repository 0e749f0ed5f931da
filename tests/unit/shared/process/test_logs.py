import argparse
import io
import json
import logging
from collections.abc import Iterator

import pytest

from shared.process.logs import (
    JsonLines,
    add_log_flag,
    log_failure,
    log_to,
    object_fields,
    without_contents,
)

logger = logging.getLogger("controller.test")


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    written = io.StringIO()
    root.handlers = []
    log_to(written)
    yield written
    root.handlers = handlers
    root.setLevel(level)


def lines(stream: io.StringIO) -> list[dict[str, str]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_about_an_object(stream: io.StringIO) -> None:
    fields = object_fields("team1", "a", "u", phase="Running", reason="FailedPods")
    logger.warning("%d pods failed", 2, extra=fields)
    (line,) = lines(stream)
    assert line.pop("ts").endswith("Z")
    assert line == {
        "level": "warning",
        "logger": "controller.test",
        "message": "2 pods failed",
        "namespace": "team1",
        "name": "a",
        "uid": "u",
        "phase": "Running",
        "reason": "FailedPods",
    }


def test_the_time_is_utc_in_milliseconds() -> None:
    record = logging.LogRecord("x", logging.INFO, "f", 1, "m", None, None)
    record.created = 1767268800.1234
    assert json.loads(JsonLines().format(record))["ts"] == "2026-01-01T12:00:00.123Z"


def test_fields_that_are_not_given_are_left_out(stream: io.StringIO) -> None:
    logger.info("hello", extra=object_fields("team1", "a"))
    (line,) = lines(stream)
    assert set(line) == {"ts", "level", "logger", "message", "namespace", "name"}


def test_a_traceback_stays_in_its_line(stream: io.StringIO) -> None:
    logger.error("failed", exc_info=ValueError("two\nlines"))
    (line,) = lines(stream)
    assert line["message"] == "failed"
    assert line["exception"].endswith("ValueError: two\nlines")


def test_text_that_is_no_utf_8_does_not_lose_the_line() -> None:
    # Not logged: pytest's workers cannot send this text with the test's report.
    record = logger.makeRecord("a", logging.ERROR, "f", 1, "odd: %s", ("\ud800",), None)
    assert json.loads(JsonLines().format(record))["message"] == "odd: \\ud800"


def test_debug_lines_are_left_out(stream: io.StringIO) -> None:
    logger.debug("hello")
    assert lines(stream) == []


def test_debug_lines_are_written_where_they_are_asked_for() -> None:
    parser = argparse.ArgumentParser()
    add_log_flag(parser)
    assert parser.parse_args([]).log_level == "info"
    written = io.StringIO()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    try:
        log_to(written, parser.parse_args(["--log-level", "debug"]).log_level)
        logger.debug("hello")
    finally:
        root.handlers = handlers
        root.setLevel(level)
    assert [line["message"] for line in lines(written)] == ["hello"]


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no")


def formatted(message: str, *values: object, **fields: object) -> dict[str, str]:
    record = logging.LogRecord("x", logging.ERROR, "f", 1, message, values, None)
    record.__dict__.update(fields)
    line: dict[str, str] = json.loads(JsonLines().format(record))
    return line


def test_a_value_that_cannot_be_shown_loses_no_line() -> None:
    assert formatted("%d pods of %s", "two", "job")["message"] == (
        "%d pods of %s (its values cannot be shown: TypeError)"
    )
    assert formatted("said %s", Unprintable())["message"] == (
        "said %s (its values cannot be shown: RuntimeError)"
    )
    line = formatted("named", uid=Unprintable())
    assert (line["message"], line["uid"]) == ("named", "(cannot be shown: RuntimeError)")


def test_a_bug_is_located_without_what_its_errors_quote(stream: io.StringIO) -> None:
    def parse(text: str) -> int:
        try:
            return int(text)
        except ValueError as error:
            raise KeyError(text) from error

    with pytest.raises(KeyError) as caught:
        parse("password")
    logger.error("failed", extra={"exception": without_contents(caught.value)})
    (line,) = lines(stream)
    traceback = line["exception"]
    assert "password" not in traceback.replace('parse("password")', "")
    places = [row for row in traceback.splitlines() if not row.startswith("    ")]
    assert places[0] == "ValueError"
    assert places[1].endswith("in parse")
    assert places[2] == "KeyError"
    assert places[-1].endswith("in parse")


def test_errors_that_cause_each_other_are_logged_once() -> None:
    one, two = ValueError(), KeyError()
    one.__cause__, two.__cause__ = two, one
    assert without_contents(one) == "KeyError\nValueError\n"


def test_the_last_line_about_a_failure_has_its_reason_and_is_short(stream: io.StringIO) -> None:
    """The kubelet shows no more than the last 2,048 bytes of a log."""

    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)
        else:
            raise KeyError("a")

    try:
        try:
            deep(100)
        except KeyError as error:
            raise ExceptionGroup("two", [error, ExceptionGroup("one", [OSError("b")])]) from None
    except ExceptionGroup as error:
        log_failure(logger, "it ends", error)
    where, last = lines(stream)
    assert (where["level"], where["message"]) == ("error", "it ends")
    assert "in deep" in where["exception"]
    assert last.pop("ts")
    assert last == {
        "level": "error",
        "logger": "controller.test",
        "message": "it ends: KeyError: 'a'; OSError: b",
    }
