"""A wrapped PersistentVolumeClaim goes with every reset, and its data with it."""

from collections.abc import Iterator

from shared.api.admission_warning import AdmissionWarning
from shared.api.names import ANNOTATION_KEEP
from webhook.submission import Submission
from webhook.validate.component_annotations import is_on


def warn_of_lost_volume(submission: Submission) -> Iterator[AdmissionWarning]:
    """A wrapped PersistentVolumeClaim goes with every reset, and its data with it.

    On CREATE, unless the component is kept.
    """
    for component in submission.components:
        if component.group_kind != "PersistentVolumeClaim" or is_on(component, ANNOTATION_KEEP):
            continue
        yield AdmissionWarning(
            f"{component.path}: every reset and suspension deletes this PersistentVolumeClaim with "
            f'its data: annotate the component {ANNOTATION_KEEP}: "true", or create it outside the '
            "AppWrapper"
        )
