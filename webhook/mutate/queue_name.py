"""The Kueue queue of an AppWrapper that names none."""

from collections.abc import Iterator

from shared.api.names import LABEL_QUEUE_NAME
from webhook.admission_review import AdmissionRequest
from webhook.facts import Facts
from webhook.json_patch import SetField
from webhook.metadata import label

_PATH = ("metadata", "labels", LABEL_QUEUE_NAME)


def default_queue_name(request: AdmissionRequest, facts: Facts) -> Iterator[SetField]:
    """The Kueue queue of an AppWrapper that names none.

    On CREATE: the configured queue where the label is absent or empty.

    An empty label names no queue to Kueue, so the AppWrapper would run without quota.
    """
    if facts.config.default_queue_name and not label(request.object, LABEL_QUEUE_NAME):
        yield SetField(_PATH, facts.config.default_queue_name)
