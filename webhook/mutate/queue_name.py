"""The Kueue queue of an AppWrapper that names none."""

from collections.abc import Iterator

from shared.api.names import LABEL_QUEUE_NAME
from shared.config.configuration import AppWrapperConfig
from webhook.admission_review import AdmissionRequest
from webhook.json_patch import SetField
from webhook.metadata import label

_PATH = ("metadata", "labels", LABEL_QUEUE_NAME)


def default_queue_name(request: AdmissionRequest, config: AppWrapperConfig) -> Iterator[SetField]:
    """On CREATE: the configured queue where the label is absent or empty.

    An empty label names no queue to Kueue, so the AppWrapper would run without quota.
    """
    if config.default_queue_name and not label(request.object, LABEL_QUEUE_NAME):
        yield SetField(_PATH, config.default_queue_name)


def keep_queue_name(request: AdmissionRequest, _config: AppWrapperConfig) -> Iterator[SetField]:
    """On UPDATE: the stored queue where the request dropped or emptied it.

    So `kubectl replace` of a file without the label changes nothing. Another queue is Kueue's to
    judge; it allows one while the AppWrapper is suspended.
    """
    stored = label(request.old_object, LABEL_QUEUE_NAME)
    if stored and not label(request.object, LABEL_QUEUE_NAME):
        yield SetField(_PATH, stored)
