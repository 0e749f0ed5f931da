"""Pods that may come beside those that Kueue counts: they get their resources without quota."""

from collections.abc import Iterator

from shared.api.admission_warning import AdmissionWarning
from shared.kinds.table import BY_GROUP_KIND
from webhook.submission import Submission


def warn_of_more_pods(submission: Submission) -> Iterator[AdmissionWarning]:
    """Pods that may come beside those that Kueue counts: they get their resources without quota.

    On CREATE. Those that come for certain, and could be counted, are refused elsewhere.
    """
    for component in submission.components:
        kind = BY_GROUP_KIND.get(component.group_kind)
        for field, what in () if kind is None else kind.beyond(component.template):
            yield AdmissionWarning(
                f"{component.path}.{field}: not counted against the quota: {what}"
            )
