"""Log lines as JSON, one object a line, with the fields that say which object a line is about."""

import logging
import sys
import traceback
from argparse import ArgumentParser
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, TextIO

import orjson

# `name` of a LogRecord is its logger's; an object's name travels under this key instead.
_RENAMED: Final = {"object_name": "name"}
_FIELDS: Final = ("namespace", "object_name", "uid", "phase", "reason", "exception")
LEVELS: Final = ("debug", "info", "warning", "error")


def object_fields(
    namespace: str, name: str, uid: str = "", *, phase: str = "", reason: str = ""
) -> dict[str, object]:
    """The `extra` of a log line about one object; empty values are left out."""
    given = {
        "namespace": namespace,
        "object_name": name,
        "uid": uid,
        "phase": phase,
        "reason": reason,
    }
    return {key: value for key, value in given.items() if value}


class JsonLines(logging.Formatter):
    """ts (UTC, RFC 3339), level, logger, message, the object's fields, and the traceback."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter`. Whatever the values are, there is a line."""
        line: dict[str, str] = {
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
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        # Text that is no valid UTF-8 (a broken surrogate) must not lose the line.
        try:
            return orjson.dumps(line).decode()
        except TypeError:
            cleaned = {key: _printable(value) for key, value in line.items()}
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
    """Where an error and its causes arose, innermost first, without what they say.

    An error that a user's object caused may quote from that object, and a Secret could be in it.
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
    """Two lines: where it arose, and then in one sentence `what` happened and why.

    The last line of a log is what the kubelet keeps of a container that failed, 2,048 bytes at
    most (terminationMessagePolicy FallbackToLogsOnError): a traceback would leave only its end.
    """
    logger.error("%s", what, exc_info=error)
    logger.error("%s: %s", what, _in_one_line(error))


def _in_one_line(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_in_one_line(each) for each in error.exceptions)
    return f"{type(error).__name__}: {_text(error)}"


def add_log_flag(parser: ArgumentParser) -> None:
    """Adds --log-level, whose value `log_to` takes."""
    parser.add_argument(
        "--log-level",
        choices=LEVELS,
        default="info",
        help="write lines from this level on (default: info)",
    )


def log_to(stream: TextIO = sys.stderr, level: str = "info") -> None:
    """Sends every logger's lines to `stream` as JSON, in place of what was set up before.

    `level` is one of LEVELS.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
