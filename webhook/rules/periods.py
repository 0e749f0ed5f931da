"""Limit the periods in annotations to the operator's maximum.

Under the policy Clamp the webhook lowers a longer period and warns its user; under Reject
validation rejects it. Validation rejects malformed values in any case.
"""

from collections.abc import Iterator
from datetime import timedelta

from shared.annotations import Admitted, AnnotationError, Period, admitted, periods_for
from shared.api.findings import AdmissionWarning
from shared.api.objects import annotation, annotations, labels
from shared.api.times import DurationError, parse_duration
from webhook.rules.json_patch import Path, SetField
from webhook.rules.submission import Facts, Submission


def limit_grace_periods(submission: Submission) -> Iterator[SetField | AdmissionWarning]:
    """Lower periods of annotations to the operator's limits.

    On CREATE: lowered to the limit; `7d` becomes `168h`, which the Go operator reads too.

    Under the policy Clamp the webhook lowers the period and warns; under Reject validation rejects
    the AppWrapper. Validation rejects malformed values in any case.
    """
    given = annotations(submission.object)
    for period in periods_for(labels(submission.object)):
        sent = given.get(period.key)
        stored = _admitted(period, sent, submission.facts)
        if sent is None or stored is None:
            continue
        yield SetField(_path(period), stored.text)
        if stored.lowered:
            lowered = f"{period.key}: lowered from {sent} to {stored.text}"
            yield AdmissionWarning(f"{lowered}, the most that the operator allows{period.because}")


def keep_grace_periods(submission: Submission) -> Iterator[SetField | AdmissionWarning]:
    """Keep stored periods if a file with the user's own values is applied again.

    On UPDATE: the stored value, if CREATE makes it of the value sent, or has made it.

    So `kubectl apply` of a file with `7d` or with more than the limit changes nothing, also if the
    limit was lowered since. Any other value stays as sent: the controller applies the limit. The
    rule never adds an annotation.
    """
    before = periods_for(labels(submission.old_object))
    for period in periods_for(labels(submission.object)):
        sent = annotation(submission.object, period.key)
        stored = annotation(submission.old_object, period.key)
        if sent is None or (sent == stored and period in before):
            continue
        today = _admitted(period, sent, submission.facts)
        if today is not None and today.text == sent:
            continue
        length = None if stored is None else _length(stored)
        if length is not None and sent != stored and length == _length(sent):
            yield SetField(_path(period), stored)
            continue
        if today is None:
            continue
        applies = f"{today.text} applies"
        if length == today.duration:
            yield SetField(_path(period), stored)
            applies = f"it stays {stored}"
        if today.lowered:
            yield AdmissionWarning(
                f"{period.key}: {sent} is more than the operator allows{period.because}, so "
                f"{applies}"
            )


def _admitted(period: Period, text: str | None, facts: Facts) -> Admitted | None:
    """Return the period to store; None without one, and for values that validation rejects."""
    config = facts.config
    try:
        found = None if text is None else admitted(period, text, config.fault_tolerance)
    except AnnotationError:
        return None
    if found is not None and found.lowered and config.grace_period_maximum_policy == "Reject":
        return None
    return found


def _length(text: str) -> timedelta | None:
    try:
        return parse_duration(text)
    except DurationError:
        return None


def _path(period: Period) -> Path:
    return ("metadata", "annotations", period.key)
