"""Two exceptions and `record`, which a user's program may import under the recorder.

    from appwrapper_errors import RecoverableError

Any exception may have an attribute `aw_recoverable` (True or False) instead. A class of any origin
with the name of one of these, or of Flyte's, counts as that class, so that no program depends on
this module. Standard library only, and no other module of the recorder: it runs in the user's
processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from functools import wraps
from typing import TYPE_CHECKING, Any, Callable, TypeVar

if TYPE_CHECKING:
    from types import TracebackType

_RECOVERABLE = ("RecoverableError", "FlyteRecoverableException")
_NON_RECOVERABLE = ("NonRecoverableError", "FlyteNonRecoverableSystemException")
# An ordinary end, or the launcher's name for a signal: the exit status has more detail.
_NO_ERRORS = ("KeyboardInterrupt", "SignalException")
_MESSAGE = 16_384
_TRACEBACK = 262_144
_RANK_TEXT = 8_192
_NAME = 120
_KEYS = 20
_FILES = 200
_MONITOR_INTERVAL = 5.0  # torchrun's longest default, in seconds

_Function = TypeVar("_Function", bound=Callable[..., Any])


class RecoverableError(Exception):
    """The job is worth another try."""


class NonRecoverableError(Exception):
    """Another try would fail again."""


def record(function: _Function) -> _Function:
    """Record what ends `function`, a program's main: an exception, or `sys.exit` with a code.

    Uncaught exceptions are recorded without it, unless the program sets its own `sys.excepthook`.
    """

    @wraps(function)
    def recorded(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except SystemExit as end:
            if end.code not in (None, 0):
                _write_safely(end)
            raise
        except Exception as error:
            _write_safely(error)
            raise

    return recorded  # type: ignore[return-value]


def write(
    kind: type[BaseException],
    error: BaseException | None,
    traceback: TracebackType | None,
    thread: bool = False,
) -> None:
    """Write one uncaught exception for the recorder, and for torchrun if this is one of its ranks.

    The content has the form of torchrun's error files, with more facts in `extraInfo`.
    """
    if error is None or kind.__name__ in _NO_ERRORS or _attribute(error, "_aw_written") is True:
        return
    if thread and isinstance(error, SystemExit):
        return
    now = time.time_ns()
    facts = {**description(error, traceback), **_process(now), "thread": thread}
    content: dict[str, Any] = {"message": facts.pop("summary"), "extraInfo": facts}
    facts["failures"] = _failures(error, traceback)
    if isinstance(error, SystemExit):
        content["errorCode"] = _exit_code(error.code)
    with contextlib.suppress(Exception):
        error._aw_written = True  # type: ignore[attr-defined]
    _keep(content, now, thread)


def write_exit(argument: object, time_ns: int, handled: dict[str, Any]) -> None:
    """Write that the process ends by `sys.exit(argument)`, called at `time_ns`.

    `handled` describes the exception that the caller was handling; empty if there was none. Most
    programs that catch their exceptions print them and call `sys.exit(1)`.
    """
    facts = {"class": "SystemExit", **handled, **_process(time_ns), "exit": True}
    summary = facts.pop("summary", "")
    message = summary if isinstance(argument, int) else _bounded(_text(argument), _MESSAGE)
    content = {"message": message, "extraInfo": facts, "errorCode": _exit_code(argument)}
    # Not for torchrun, which sees the exit code itself.
    _keep(content, time_ns, True)


def description(error: BaseException, traceback: TracebackType | None) -> dict[str, Any]:
    """Return the reported facts of an exception, in bounded texts.

    A group of one exception, as asyncio's TaskGroup raises it, gets that exception's name.
    """
    leaves = _leaves(error)
    shown = leaves[0] if len(leaves) == 1 else error
    name = type(shown).__name__[:_NAME]
    text = _text(shown)
    return {
        "summary": _bounded(f"{name}: {text}" if text else name, _MESSAGE),
        "py_callstack": _bounded(_formatted(error, traceback), _TRACEBACK),
        "class": name,
        "recoverable": is_recoverable(error),
    }


def _keep(message: dict[str, Any], now: int, for_us_alone: bool) -> None:
    content = json.dumps({"message": message}).encode()
    folder = os.environ.get("_AW_RECORDS")
    if folder:
        reports = sorted(name for name in os.listdir(folder) if name.startswith("report-"))
        for oldest in reports[:-_FILES]:
            # Another process may remove it now, or it is another user's.
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, oldest))
        _write_whole(os.path.join(folder, f"report-{now}-{os.getpid()}.json"), content)
    error_file = getattr(sys, "_aw_error_file", "")
    if error_file and not for_us_alone and not os.path.exists(error_file):
        _write_whole(error_file, content)


def _write_safely(error: BaseException) -> None:
    # The program's own error must come through.
    with contextlib.suppress(Exception):
        write(type(error), error, error.__traceback__)


def _formatted(error: BaseException, traceback: TracebackType | None) -> str:
    """Return the traceback as Python prints it; empty if the exception does not allow it."""
    from traceback import format_exception

    try:
        return "".join(format_exception(type(error), error, traceback))
    except Exception:  # noqa: BLE001  (whatever the exception's own methods raise)
        return ""


def _text(value: object) -> str:
    try:
        return str(value)
    except BaseException:  # noqa: BLE001  (as in Python's own traceback)
        return "<no text: str() failed>"


def _attribute(error: BaseException, name: str) -> object:
    """Return an attribute; None if there is none, or if the exception's own method fails."""
    try:
        return getattr(error, name, None)
    except Exception:  # noqa: BLE001  (whatever the exception's own methods raise)
        return None


def _process(now: int) -> dict[str, Any]:
    return {
        "timestamp": str(now // 1_000_000_000),
        "timestamp_ns": now,
        "rank": os.environ.get("RANK"),
        "pid": os.getpid(),
    }


def _exit_code(argument: object) -> int:
    """Return the exit code that Python makes of an argument of `sys.exit` other than None."""
    return argument & 0xFF if isinstance(argument, int) else 1


def is_recoverable(error: BaseException) -> bool | None:
    """Return the exception's own statement about another try; None without one.

    A group has the statement that all its exceptions share.
    """
    declared = _attribute(error, "aw_recoverable")
    if isinstance(declared, bool):
        return declared
    for ancestor in type(error).__mro__:
        if ancestor.__name__ in _RECOVERABLE:
            return True
        if ancestor.__name__ in _NON_RECOVERABLE:
            return False
    every = {is_recoverable(leaf) for leaf in _leaves(error) if leaf is not error}
    return False if False in every else every == {True} or None


def _leaves(error: BaseException) -> list[BaseException]:
    """Return the exceptions in a group and in its groups; the exception itself if it is none."""
    if not any(each.__name__ == "BaseExceptionGroup" for each in type(error).__mro__):
        return [error]
    inner = error.exceptions  # type: ignore[attr-defined]  # Python 3.11
    return [leaf for each in inner for leaf in _leaves(each)]


def _failures(error: BaseException, traceback: TracebackType | None) -> list[dict[str, Any]]:
    """Return the ranks that torchrun lists when it gives up: its ChildFailedError has them all.

    This needs no import of torch, and works for every way to start the launcher.
    """
    if type(error).__name__ != "ChildFailedError":
        return []
    failures = _attribute(error, "failures")
    if not isinstance(failures, dict):
        return []
    interval = _monitor_interval(traceback)
    return [
        {
            "rank": rank,
            "pid": getattr(failure, "pid", None),
            "exitcode": getattr(failure, "exitcode", None),
            "timestamp": getattr(failure, "timestamp", None),
            "monitor_interval": interval,
            "data": _error_file_data(failure),
        }
        for rank, failure in failures.items()
    ]


def _error_file_data(failure: object) -> object:
    """Return a rank's error file; None without one: torchrun has a default text for that."""
    data = getattr(failure, "error_file_data", None)
    return _shortened(data) if os.path.isabs(str(getattr(failure, "error_file", ""))) else None


def _shortened(data: object) -> object:
    """Return the texts and numbers of an error file: those of all ranks must fit in one report."""
    if isinstance(data, dict):
        return {str(key)[:_NAME]: _shortened(value) for key, value in list(data.items())[:_KEYS]}
    if isinstance(data, str):
        return _bounded(data, _RANK_TEXT)
    return data if isinstance(data, (int, float)) else None


def _monitor_interval(traceback: TracebackType | None) -> float:
    """Return the launcher's interval between checks of its ranks, in seconds, from a local
    variable.
    """
    while traceback is not None:
        config = traceback.tb_frame.f_locals.get("config")
        interval = getattr(config, "monitor_interval", None)
        if isinstance(interval, (int, float)):
            return float(interval)
        traceback = traceback.tb_next
    return _MONITOR_INTERVAL


def _bounded(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return text[: length // 4] + "\n[... cut ...]\n" + text[-length * 3 // 4 :]


def _write_whole(path: str, content: bytes) -> None:
    """Write a file in one step: a reader sees all of it, or nothing."""
    unfinished = f"{path}.{os.getpid()}.tmp"
    with open(unfinished, "wb") as file:
        file.write(content)
    os.rename(unfinished, path)
