"""A wrapped Secret is no secret from those who read AppWrappers."""

from collections.abc import Iterator

from shared.api.admission_warning import AdmissionWarning
from webhook.submission import Submission


def warn_of_readable_secret(submission: Submission) -> Iterator[AdmissionWarning]:
    """A wrapped Secret is no secret from those who read AppWrappers.

    On CREATE. Its content is never shown.
    """
    for component in submission.components:
        if component.group_kind == "Secret":
            yield AdmissionWarning(
                f"{component.path}: whoever may read AppWrappers can read this Secret: create it "
                "outside the AppWrapper and refer to it by name"
            )
