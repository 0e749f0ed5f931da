"""Names that Kueue can hold: it calls the pod sets of AppWrapper NAME `NAME-0`, `NAME-1`, …"""

from collections.abc import Iterator
from typing import Final

from shared.api.field_errors import FieldError, FieldErrorKind, quoted
from shared.kinds.pod_set import PodSetError
from shared.kinds.table import component_pod_sets
from webhook.admission_review import AdmissionRequest
from webhook.metadata import metadata
from webhook.submission import Submission

# Of a pod set's name in Kueue's Workload, and of a label's value: pods carry ours as a label.
_LONGEST: Final = 63
_SURELY_SHORT: Final = _LONGEST - len("-9999")  # pod sets need not be counted to know
# How the API server makes a name of a generateName: it cuts it and appends some characters.
_APPENDED: Final = 5
_LONGEST_PREFIX: Final = 63 - _APPENDED


def check_names(submission: Submission) -> Iterator[FieldError]:
    """Names that Kueue can hold: it calls the pod sets of AppWrapper NAME `NAME-0`, `NAME-1`, …

    No dots, and short enough for the last pod set's name.

    At validation a generated name is there already; what its user can change is its prefix.
    """
    request = submission.request
    prefix, name = _prefix(request), request.name or _text(request, "name")
    if prefix and (not name or _is_made_of(name, prefix)):
        yield from _check("metadata.generateName", prefix, _APPENDED, submission)
    else:
        yield from _check("metadata.name", name, 0, submission)


def _check(path: str, text: str, appended: int, submission: Submission) -> Iterator[FieldError]:
    if "." in text:
        detail = (
            "must not contain dots: Kueue names pod sets after the AppWrapper (NAME-0), without any"
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
    """Of the last pod set. Components that cannot be told have errors of their own."""
    count = 0
    for component in submission.components:
        try:
            count += len(component_pod_sets(component.raw))
        except PodSetError:
            continue
    return max(count - 1, 0)


def _prefix(request: AdmissionRequest) -> str:
    return _text(request, "generateName")


def _is_made_of(name: str, prefix: str) -> bool:
    base = prefix[:_LONGEST_PREFIX]
    return name.startswith(base) and len(name) == len(base) + _APPENDED


def _text(request: AdmissionRequest, key: str) -> str:
    value = metadata(request.object).get(key)
    return value if isinstance(value, str) else ""
