"""What runs for ever beside what ends keeps the AppWrapper from ever succeeding."""

from collections.abc import Iterator

from shared.api.admission_warning import AdmissionWarning
from shared.api.names import ANNOTATION_HELPER
from shared.kinds.table import BY_GROUP_KIND
from webhook.component_pods import has_pods
from webhook.components import Component
from webhook.submission import Submission
from webhook.validate.component_annotations import is_on


def warn_of_never_completing(submission: Submission) -> Iterator[AdmissionWarning]:
    """What runs for ever beside what ends keeps the AppWrapper from ever succeeding.

    On CREATE. An AppWrapper that is meant to run for ever has nothing that ends.
    """
    endless = [each for each in submission.components if _is_endless(each) and _counts(each)]
    if not endless or not any(
        _counts(each) for each in submission.components if not _is_endless(each)
    ):
        return
    for component in endless:
        yield AdmissionWarning(
            f"{component.path}: a {component.kind} never completes, so the AppWrapper will never "
            "succeed; if it only serves the others, annotate the component "
            f'{ANNOTATION_HELPER}: "true"'
        )


def _is_endless(component: Component) -> bool:
    kind = BY_GROUP_KIND.get(component.group_kind)
    return kind is not None and kind.ends is False


def _counts(component: Component) -> bool:
    """Towards success."""
    return not is_on(component, ANNOTATION_HELPER) and has_pods(component.raw)
