"""Log how reviews end. A failed log line never blocks an answer."""

import logging
from collections.abc import Callable
from typing import Final, ParamSpec

from shared.process.logs import object_fields, without_contents
from webhook.admission_review import AdmissionRequest
from webhook.verdicts import Denied, Errored, Verdict

_log: Final = logging.getLogger(__name__)

_LONGEST_LOGGED: Final = 2000
_Arguments = ParamSpec("_Arguments")


def _never_raises(write: Callable[_Arguments, None]) -> Callable[_Arguments, None]:
    """Log a failure of `write` instead of raising it: it must not block answers."""

    def logged(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> None:
        try:
            write(*args, **kwargs)
        except Exception as error:  # noqa: BLE001  as above
            _log.error("a log line failed: %s", type(error).__name__)

    return logged


@_never_raises
def log_verdict(review: AdmissionRequest, verdict: Verdict) -> None:
    """Log a rejection or a failure; an admission only at level debug."""
    if isinstance(verdict, Denied):
        text = f"denied {review.operation}: {verdict.status.get('message')}"
        log_line(logging.INFO, text, _fields(review, verdict.status.get("reason")))
    elif isinstance(verdict, Errored):
        text = f"errored {review.operation}: {verdict.message}"
        log_line(logging.ERROR, text, _fields(review, verdict.reason))
    elif _log.isEnabledFor(logging.DEBUG):
        # Names only: an AppWrapper may hold Secrets.
        text = f"{review.operation} of {review.group_kind} by {review.user.name} may go on"
        log_line(logging.DEBUG, text, _fields(review, type(verdict).__name__))


@_never_raises
def log_bug(review: AdmissionRequest, error: Exception) -> None:
    """Log that a rule failed, without the error's text, which may quote from the object."""
    fields = _fields(review) | {"exception": without_contents(error)}
    log_line(logging.ERROR, f"{review.operation}: a rule failed", fields)


@_never_raises
def log_line(level: int, text: str, fields: dict[str, object]) -> None:
    """Log one line with structured fields; a long text is cut."""
    _log.log(level, "%s", text[:_LONGEST_LOGGED], extra=fields)


def _fields(review: AdmissionRequest, reason: object = "") -> dict[str, object]:
    return object_fields(review.namespace, review.display_name, review.uid, reason=str(reason))
