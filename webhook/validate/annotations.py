"""Annotations that change an AppWrapper's fault tolerance: each must mean something."""

from collections.abc import Iterable, Iterator

from shared.api.field_errors import FieldError, FieldErrorKind, quoted
from shared.api.json import JsonObject
from shared.config.configuration import AppWrapperConfig
from shared.durations import format_duration
from shared.fault_tolerance.annotation_error import AnnotationError
from shared.fault_tolerance.annotations import KEYS, check_value
from shared.fault_tolerance.periods import PERIODS
from webhook.admission_review import AdmissionRequest
from webhook.facts import Facts
from webhook.metadata import annotation, annotations
from webhook.submission import Submission


def check_annotations(submission: Submission) -> Iterator[FieldError]:
    """Annotations that change an AppWrapper's fault tolerance: each must mean something.

    On CREATE: all of them.

    A value that nobody can read used to count as the default, silently.
    """
    yield from _check(submission.request.object, KEYS, submission.config)


def check_changed_annotations(request: AdmissionRequest, facts: Facts) -> Iterator[FieldError]:
    """Annotations that change an AppWrapper's fault tolerance: each must mean something.

    On UPDATE: those that the request changes.

    Others may have been admitted under another configuration, or by another operator.
    """
    old = request.old_object
    changed = [key for key in KEYS if annotation(request.object, key) != annotation(old, key)]
    yield from _check(request.object, changed, facts.config)


def _check(
    target: JsonObject, keys: Iterable[str], config: AppWrapperConfig
) -> Iterator[FieldError]:
    given = annotations(target)
    for key in keys:
        if (text := given.get(key)) is None:
            continue
        try:
            check_value(key, text, config.fault_tolerance)
            _check_limit(key, text, config)
        except AnnotationError as error:
            path = f"metadata.annotations[{key}]"
            yield FieldError(path, FieldErrorKind.INVALID, str(error), quoted(text))


def _check_limit(key: str, text: str, config: AppWrapperConfig) -> None:
    """Raises AnnotationError above the limit of a period, under the policy Reject."""
    if config.grace_period_maximum_policy != "Reject":
        return
    for period in PERIODS:
        limit = period.limit(config.fault_tolerance)
        if period.key == key and period.parse(text) > limit:
            raise AnnotationError(f"must be at most {format_duration(limit)}, the operator's limit")
