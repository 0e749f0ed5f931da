"""Log lines as JSON, one object a line, with the fields that say which object a line is about."""

import logging
import sys
from datetime import UTC, datetime
from typing import TextIO

import orjson

# `name` of a LogRecord is its logger's; an object's name travels under this key instead.
_RENAMED = {"object_name": "name"}


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
        """See `logging.Formatter`."""
        line: dict[str, object] = {
            "ts": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for key in ("namespace", "object_name", "uid", "phase", "reason"):
            value = record.__dict__.get(key)
            if value is not None:
                line[_RENAMED.get(key, key)] = str(value)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        # Text that is no valid UTF-8 (a broken surrogate) must not lose the line.
        try:
            return orjson.dumps(line).decode()
        except TypeError:
            cleaned = {key: _printable(value) for key, value in line.items()}
            return orjson.dumps(cleaned).decode()


def _printable(value: object) -> str:
    return str(value).encode("utf-8", "backslashreplace").decode()


def log_to(stream: TextIO = sys.stderr, level: int = logging.INFO) -> None:
    """Sends every logger's lines to `stream` as JSON, in place of what was set up before."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level, handlers=[handler], force=True)
