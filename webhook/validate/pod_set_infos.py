"""podSetInfos say that quota was granted: only who grants it may write them."""

from collections.abc import Iterator

from shared.api.field_errors import FieldError, FieldErrorKind
from webhook.submission import Submission


def check_pod_set_infos(submission: Submission) -> Iterator[FieldError]:
    """podSetInfos say that quota was granted: only who grants it may write them.

    On CREATE: none, save from a quota manager (configuration `exemptions.quotaManagers`).
    """
    if submission.request.user.name in submission.config.exemptions.quota_managers:
        return
    for component in submission.components:
        if component.raw.get("podSetInfos"):
            yield FieldError(
                f"{component.path}.podSetInfos",
                FieldErrorKind.FORBIDDEN,
                "Kueue writes them when it admits the AppWrapper; leave them out",
            )
