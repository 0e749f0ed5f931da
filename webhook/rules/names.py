"""Limit the name of an AppWrapper."""

from collections.abc import Iterator
from typing import Final

from shared.api.findings import FieldError, FieldErrorKind, quoted
from shared.api.objects import metadata
from webhook.admission_review import AdmissionRequest
from webhook.rules.submission import Submission

# The limit of a pod set's name in Kueue's Workload, and of a label's value: pods have the
# AppWrapper's name as a label.
_LONGEST: Final = 63
_SURELY_SHORT: Final = _LONGEST - len("-9999")  # short enough for any number of pod sets
# The API server makes a name from a generateName: it cuts the prefix and appends characters.
_APPENDED: Final = 5
_LONGEST_PREFIX: Final = 63 - _APPENDED


def check_names(submission: Submission) -> Iterator[FieldError]:
    """Reject names that are too long for Kueue, which calls the pod sets of AppWrapper NAME
    `NAME-0`, …

    No dots, and short enough for the last pod set's name.

    At validation a generated name is already set; the user can change only its prefix.
    """
    request = submission.request
    # The object's own name: an earlier webhook may have changed it, and not the request's.
    prefix, name = _prefix(request), _text(request, "name") or request.name
    if prefix and (not name or _is_made_of(name, prefix)):
        yield from _check("metadata.generateName", prefix, _APPENDED, submission)
    else:
        yield from _check("metadata.name", name, 0, submission)


def _check(path: str, text: str, appended: int, submission: Submission) -> Iterator[FieldError]:
    if "." in text:
        detail = (
            "must not contain dots: Kueue names pod sets after the AppWrapper (NAME-0), without "
            "dots"
        )
        yield FieldError(path, FieldErrorKind.INVALID, detail, quoted(text))
    if len(text) + appended <= _SURELY_SHORT:
        return
    index = str(_last_index(submission))
    most = _LONGEST - appended - len(f"-{index}")
    if len(text) > most:
        made = f"the API server appends {appended} characters, and " if appended else ""
        detail = (
            f"may have at most {most} characters, but has {len(text)}: {made}Kueue names a pod set "
            f"NAME-{index}, in at most {_LONGEST}"
        )
        yield FieldError(path, FieldErrorKind.TOO_LONG, detail)


def _last_index(submission: Submission) -> int:
    """Return the index of the last pod set. Other rules reject components without known ones."""
    count = sum(len(each.pod_sets) for each in submission.components)
    return max(count - 1, 0)


def _prefix(request: AdmissionRequest) -> str:
    return _text(request, "generateName")


def _is_made_of(name: str, prefix: str) -> bool:
    base = prefix[:_LONGEST_PREFIX]
    return name.startswith(base) and len(name) == len(base) + _APPENDED


def _text(request: AdmissionRequest, key: str) -> str:
    value = metadata(request.object).get(key)
    return value if isinstance(value, str) else ""
