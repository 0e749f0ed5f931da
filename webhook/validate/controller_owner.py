"""Nobody hides a queued AppWrapper from Kueue behind a controller."""

from collections.abc import Iterator

from shared.api.field_errors import FieldError, FieldErrorKind
from shared.api.json import JsonObject
from webhook.admission_review import AdmissionRequest
from webhook.controller_references import controller_references
from webhook.facts import Facts
from webhook.mutate.quota_fields import is_quota_at_stake


def check_controller_owner(request: AdmissionRequest, facts: Facts) -> Iterator[FieldError]:
    """Nobody hides a queued AppWrapper from Kueue behind a controller.

    On UPDATE, where quota is at stake: no controller that is not stored.

    Measured: an AppWrapper that runs and gets another AppWrapper as its controller is neither
    preempted nor evicted any more. On CREATE it does no harm: without podSetInfos nothing starts.
    """
    if not is_quota_at_stake(request, facts):
        return
    if _controllers(request.object) - _controllers(request.old_object):
        yield FieldError(
            "metadata.ownerReferences",
            FieldErrorKind.FORBIDDEN,
            "a queued AppWrapper cannot get a controller: Kueue would never evict it again",
        )


def _controllers(target: JsonObject | None) -> set[tuple[str | None, ...]]:
    """As a set: the API server allows one at most, but others can reach our port, too.

    None stands for what is no text, which the API server refuses.
    """
    return {
        tuple(value if isinstance(value, str) else None for value in each.values())
        for each in controller_references(target)
    }
