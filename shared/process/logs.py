"""Write log lines as JSON, one object per line, with fields that identify the line's object."""

import logging
import sys
import traceback
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, TextIO

import orjson

# `name` of a LogRecord is its logger's, so an object's name has another key inside a record.
_RENAMED: Final = {"object_name": "name"}
_FIELDS: Final = ("namespace", "object_name", "uid", "phase", "reason", "exception")
# A record's further fields, as a dict of JSON values.
FIGURES: Final = "figures"
LEVELS: Final = ("debug", "info", "warning", "error")


def object_fields(
    namespace: str, name: str, uid: str = "", *, phase: str = "", reason: str = ""
) -> dict[str, object]:
    """Return the `extra` of a log line about one object, without empty values."""
    given = {
        "namespace": namespace,
        "object_name": name,
        "uid": uid,
        "phase": phase,
        "reason": reason,
    }
    return {key: value for key, value in given.items() if value}


class JsonLines(logging.Formatter):
    """Format ts (UTC, RFC 3339), level, logger, message, the object's fields, and the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a line for any values: no value makes it fail."""
        line: dict[str, object] = {
            "ts": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
        }
        for key in _FIELDS:
            value = record.__dict__.get(key)
            if value is not None:
                line[_RENAMED.get(key, key)] = _text(value)
        line.update(record.__dict__.get(FIGURES) or {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        # Text that is no valid UTF-8 (a broken surrogate) must not lose the line.
        try:
            return orjson.dumps(line).decode()
        except TypeError:
            cleaned = {
                key: _printable(value) if isinstance(value, str) else value
                for key, value in line.items()
            }
            return orjson.dumps(cleaned).decode()


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001  values may be anything, so may be what they raise
        return f"{record.msg} (its values cannot be shown: {type(error).__name__})"


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception as error:  # noqa: BLE001  as above
        return f"(cannot be shown: {type(error).__name__})"


def _printable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def without_contents(error: BaseException) -> str:
    """Return the stack of an error and its causes, innermost first, without their messages.

    An error over a user's object may quote from it, and a Secret could be in the quote.
    """
    return "".join(_places(error))


def _places(error: BaseException | None) -> Iterator[str]:
    seen: set[int] = set()
    chain: list[BaseException] = []
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        chain.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    for each in reversed(chain):
        yield f"{type(each).__qualname__}\n"
        yield from traceback.format_tb(each.__traceback__)


def log_failure(logger: logging.Logger, what: str, error: BaseException) -> None:
    """Write two lines: the traceback, then one sentence with `what` happened and why.

    The kubelet keeps the end of a failed container's log, 2,048 bytes at most
    (terminationMessagePolicy FallbackToLogsOnError). A traceback alone would fill it.
    """
    logger.error("%s", what, exc_info=error)
    logger.error("%s: %s", what, _in_one_line(error))


def _in_one_line(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_in_one_line(each) for each in error.exceptions)
    return f"{type(error).__name__}: {_text(error)}"


def add_log_flag(parser: ArgumentParser) -> None:
    """Add --log-level, whose value `log_to` takes."""
    parser.add_argument(
        "--log-level",
        choices=LEVELS,
        default="info",
        help="write lines from this level on (default: info)",
    )


def log_to(stream: TextIO = sys.stderr, level: str = "info") -> None:
    """Send every logger's lines to `stream` as JSON, in place of earlier handlers.

    `level` is one of LEVELS.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
