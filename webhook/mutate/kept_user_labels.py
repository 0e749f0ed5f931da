"""Who submitted a stored AppWrapper, when an UPDATE drops it."""

from collections.abc import Iterator

from shared.api.names import LABEL_USER, LABEL_USERID
from webhook.admission_review import AdmissionRequest
from webhook.facts import Facts
from webhook.json_patch import SetField
from webhook.metadata import label


def keep_user_labels(request: AdmissionRequest, _facts: Facts) -> Iterator[SetField]:
    """Who submitted a stored AppWrapper, when an UPDATE drops it.

    On UPDATE: the stored labels where the request dropped them; never anybody else's name.
    """
    for key in (LABEL_USER, LABEL_USERID):
        stored = label(request.old_object, key)
        if stored is not None and label(request.object, key) is None:
            yield SetField(("metadata", "labels", key), stored)
