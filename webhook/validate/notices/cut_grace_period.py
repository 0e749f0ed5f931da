"""Pods get no longer to end than a deletion may take, whatever their template says."""

from collections.abc import Iterator

from shared.api.admission_warning import AdmissionWarning
from shared.durations import format_duration
from shared.fault_tolerance.periods import FORCEFUL_DELETION_GRACE
from shared.injection.grace_period import FIELD, capped_grace_period
from webhook.component_pods import pod_templates
from webhook.metadata import annotations
from webhook.submission import Submission


def warn_of_cut_grace_period(submission: Submission) -> Iterator[AdmissionWarning]:
    """Pods get no longer to end than a deletion may take, whatever their template says.

    On CREATE, where the template asks for a number of seconds. The controller cuts it.
    """
    longest = FORCEFUL_DELETION_GRACE.read(
        annotations(submission.request.object), submission.config.fault_tolerance
    )
    for component in submission.components:
        for path, template in pod_templates(component):
            asked = template["spec"].get(FIELD)
            cut = capped_grace_period(asked, longest)
            if asked is not None and cut is not None:
                yield AdmissionWarning(
                    f"{path}.spec.{FIELD}: pods get {cut} instead of {asked}, since "
                    f"{FORCEFUL_DELETION_GRACE.key} is {format_duration(longest)}"
                )
