"""A wrapped Secret is no secret from those who read AppWrappers."""

from collections.abc import Iterator

from webhook.notices import Notice
from webhook.submission import Submission


def warn_of_readable_secret(submission: Submission) -> Iterator[Notice]:
    """On CREATE. Its content is never shown."""
    for component in submission.components:
        if component.group_kind == "Secret":
            yield Notice(
                f"{component.path}: whoever may read AppWrappers can read this Secret: create it "
                "outside the AppWrapper and refer to it by name"
            )
