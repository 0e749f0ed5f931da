"""The Kueue queue of a stored AppWrapper, when an UPDATE drops it."""

from collections.abc import Iterator

from shared.api.names import LABEL_QUEUE_NAME
from webhook.admission_review import AdmissionRequest
from webhook.facts import Facts
from webhook.json_patch import SetField
from webhook.metadata import label


def keep_queue_name(request: AdmissionRequest, _facts: Facts) -> Iterator[SetField]:
    """The Kueue queue of a stored AppWrapper, when an UPDATE drops it.

    On UPDATE: the stored queue where the request dropped or emptied it.

    So `kubectl replace` of a file without the label changes nothing, and nobody leaves Kueue by
    taking the label off. Another queue is Kueue's to judge; it allows one while the AppWrapper is
    suspended. Where none is stored none is added, whatever the default.
    """
    stored = label(request.old_object, LABEL_QUEUE_NAME)
    if stored and not label(request.object, LABEL_QUEUE_NAME):
        yield SetField(("metadata", "labels", LABEL_QUEUE_NAME), stored)
