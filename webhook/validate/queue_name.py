"""Nobody in a team's namespace runs without quota."""

from collections.abc import Iterator

from shared.api.field_errors import FieldError, FieldErrorKind
from shared.api.names import LABEL_QUEUE_NAME
from webhook.metadata import label
from webhook.submission import Submission


def check_queue_name(submission: Submission) -> Iterator[FieldError]:
    """Nobody in a team's namespace runs without quota.

    In team namespaces an AppWrapper names a queue: its user, our default or Kueue's wrote it.
    """
    if submission.facts.is_team_namespace and not label(
        submission.request.object, LABEL_QUEUE_NAME
    ):
        yield FieldError(
            f"metadata.labels[{LABEL_QUEUE_NAME}]",
            FieldErrorKind.REQUIRED,
            "must name the LocalQueue whose quota it uses; none is configured as the default",
        )
