"""Our controller's finalizer, when an UPDATE drops it."""

from collections.abc import Iterator

from shared.api.json import JsonObject, JsonValue
from shared.api.names import FINALIZER
from webhook.admission_review import AdmissionRequest
from webhook.facts import Facts
from webhook.json_patch import SetField
from webhook.metadata import metadata


def keep_finalizer(request: AdmissionRequest, _facts: Facts) -> Iterator[SetField]:
    """Our controller's finalizer, when an UPDATE drops it.

    On UPDATE: ours, where it is stored and the object is not being deleted.

    `kubectl replace` of a file drops it. Without it a deletion would give the quota back before the
    pods are gone, and one with `--cascade=orphan` would leave them running without quota. Everybody
    else's finalizers are theirs. Who has deleted the object may take ours off, too.
    """
    stored, sent = _finalizers(request.old_object), _finalizers(request.object)
    if FINALIZER in stored and FINALIZER not in sent:
        # Sets: an object has room for 100,000, and each user may write as many.
        before, wanted = _names(stored), {FINALIZER, *_names(sent)}
        kept = [each for each in stored if isinstance(each, str) and each in wanted]
        added = [each for each in sent if not (isinstance(each, str) and each in before)]
        yield SetField(("metadata", "finalizers"), kept + added)


def _finalizers(target: JsonObject | None) -> list[JsonValue]:
    found = metadata(target).get("finalizers")
    return found if isinstance(found, list) else []


def _names(finalizers: list[JsonValue]) -> set[str]:
    """Without what is no text, which the API server refuses."""
    return {each for each in finalizers if isinstance(each, str)}
