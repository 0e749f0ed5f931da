"""A warning for files that name their user, where the webhook writes who really asks."""

from collections.abc import Iterator

from shared.api.admission_warning import AdmissionWarning
from shared.api.field_errors import quoted
from shared.api.names import LABEL_USER, LABEL_USERID
from webhook.admission_review import AdmissionRequest
from webhook.facts import Facts
from webhook.metadata import label
from webhook.mutate.user_labels import as_label_value


def warn_of_named_user(request: AdmissionRequest, _facts: Facts) -> Iterator[AdmissionWarning]:
    """A warning for files that name their user, where the webhook writes who really asks.

    On CREATE, where the label says something else: on UPDATE that is a change, and refused.
    """
    for key, value in ((LABEL_USER, request.user.name), (LABEL_USERID, request.user.uid)):
        written, true = label(request.object, key), as_label_value(value)
        if written is not None and written != true:
            yield AdmissionWarning(
                f"metadata.labels[{key}]: remove it from the file: it is overwritten with "
                f"{quoted(true)}, and the same file will be refused when applied again"
            )
