"""Read error files in torchrun's form: its own, and those of our exception hooks.

torchrun writes `message` as an object, older versions as text; after a failure its agent adds the
exit code. Our hooks write the same form with more facts in `extraInfo`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Dict, cast

from worker.failure import Failure, Report
from worker.record import plausible_number, plausible_time

_SECOND = 1_000_000_000
_Object = Dict[str, Any]


class BadErrorFile(ValueError):
    """The content is no error file."""


def parse(content: bytes) -> Report:
    """Return the report in an error file. Raises BadErrorFile."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise BadErrorFile(f"no JSON: {error}") from error
    report = _report(document)
    if report is None:
        raise BadErrorFile("the object has no message")
    return report


def _report(document: object) -> Report | None:
    message = _object(document).get("message")
    if isinstance(message, str):
        seconds = _integer(_object(document).get("timestamp"))
        return Report(_failure(message, {}, seconds, None))
    text = _object(message).get("message")
    if not isinstance(text, str):
        return None
    facts = _object(_object(message).get("extraInfo"))
    status = _status(_object(message).get("errorCode"))
    ranks = facts.get("failures")
    return Report(
        _failure(text, facts, _integer(facts.get("timestamp")), status),
        pid=plausible_number(facts.get("pid")),
        thread=facts.get("thread") is True,
        ranks=tuple(_rank(_object(entry)) for entry in ranks) if isinstance(ranks, list) else (),
    )


def _failure(text: str, facts: _Object, seconds: int | None, status: int | None) -> Failure:
    exact = plausible_time(facts.get("timestamp_ns"))
    code = facts.get("class")
    recoverable = facts.get("recoverable")
    ends_by_exit = code == "SystemExit" or facts.get("exit") is True
    if not isinstance(recoverable, bool):
        # A thread's exception need not be the reason why the process ended.
        recoverable = True if facts.get("thread") is True else None
    return Failure(
        time_ns=exact or plausible_time((seconds or 0) * _SECOND) or 0,
        precision_ns=0 if exact else _SECOND,
        code=f"EXIT_{status}" if code == "SystemExit" else _class_name(code, text),
        message=_with_traceback(text, facts.get("py_callstack")),
        recoverable=recoverable,
        is_exception=not ends_by_exit,
        rank=plausible_number(_integer(facts.get("rank"))),
        status=status,
    )


def _rank(entry: _Object) -> tuple[int | None, Failure]:
    """Return one failed rank of a launcher and its process id.

    Without an error file its time is the launcher's check, in whole seconds: up to one interval
    late.
    """
    status, rank = _status(entry.get("exitcode")), plausible_number(_integer(entry.get("rank")))
    pid = plausible_number(entry.get("pid"))
    interval = entry.get("monitor_interval")
    late = int(interval * _SECOND) if isinstance(interval, float) and 0 <= interval < 3600 else 0
    noticed = (_integer(entry.get("timestamp")) or 0) * _SECOND
    failure = Failure(
        time_ns=plausible_time(noticed - late) or 0,
        precision_ns=late + _SECOND,
        rank=rank,
        status=status,
    )
    report = _report(entry.get("data"))
    if report is None:
        return pid, failure
    found = replace(report.failure, rank=rank, status=status)
    if found.time_ns:
        return pid, found
    return pid, replace(found, time_ns=failure.time_ns, precision_ns=failure.precision_ns)


def _with_traceback(text: str, traceback: object) -> str:
    """Return the summary line first, then the traceback if there is one."""
    if not isinstance(traceback, str) or not traceback.strip():
        return text
    return f"{text}\n\n{traceback.rstrip()}"


def _class_name(code: object, text: str) -> str:
    """Return the exception's class, which torchrun writes at the beginning of its message only."""
    if isinstance(code, str):
        return code
    name = text.split(":", 1)[0].strip()
    return name if name.isidentifier() else "Error"


def _object(value: object) -> _Object:
    return cast("_Object", value) if isinstance(value, dict) else {}


def _status(value: object) -> int | None:
    """Return an exit code or a negated signal; None for a value with which no process ends."""
    number = value if isinstance(value, int) else _integer(value)
    return number if number is not None and -65 < number < 256 else None


def _integer(value: object) -> int | None:
    """Return a number, also one in decimal text; None for anything else."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 12:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value >= 0 else None
