"""The Kueue queue of what a team's user creates without wrapping it."""

from collections.abc import Iterator
from typing import Final

from shared.api.names import LABEL_QUEUE_NAME
from shared.kinds.table import KINDS
from webhook.admission_review import AdmissionRequest
from webhook.controller_references import controller_references
from webhook.facts import Facts
from webhook.json_patch import SetField
from webhook.metadata import label

_KINDS: Final = frozenset(each.group_kind for each in KINDS if each.unwrapped)


def default_direct_queue_name(request: AdmissionRequest, facts: Facts) -> Iterator[SetField]:
    """The Kueue queue of what a team's user creates without wrapping it.

    On CREATE in team namespaces: the configured queue where the label is absent or empty.

    What a controller made is part of its owner, which has quota already. Off by default:
    configuration `defaultQueueNameOnDirectKinds`.
    """
    queue = facts.config.default_queue_name
    if not (facts.config.default_queue_name_on_direct_kinds and queue):
        return
    if not facts.is_team_namespace or request.group_kind not in _KINDS:
        return
    if not label(request.object, LABEL_QUEUE_NAME) and not controller_references(request.object):
        yield SetField(("metadata", "labels", LABEL_QUEUE_NAME), queue)
