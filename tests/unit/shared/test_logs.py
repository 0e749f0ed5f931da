import io
import json
import logging
from collections.abc import Iterator

import pytest

from shared.logs import JsonLines, log_to, object_fields

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


def test_text_that_is_no_utf_8_does_not_lose_the_line(stream: io.StringIO) -> None:
    logger.error("odd: %s", "\ud800")
    assert lines(stream)[0]["message"] == "odd: \\ud800"


def test_debug_lines_are_left_out(stream: io.StringIO) -> None:
    logger.debug("hello")
    assert lines(stream) == []
