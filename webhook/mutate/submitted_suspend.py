"""Files that say `suspend: true`, as many written for Kueue do: again, they suspend nothing."""

from collections.abc import Iterator
from typing import Final

from shared.api.admission_warning import AdmissionWarning
from shared.api.component_digest import component_digest
from shared.api.json import JsonObject
from shared.api.names import (
    ANNOTATION_SUBMITTED_DIGEST,
    ANNOTATION_SUBMITTED_SUSPENDED,
    LABEL_QUEUE_NAME,
)
from webhook.admission_review import AdmissionRequest
from webhook.facts import Facts
from webhook.json_patch import Change, RemoveField, SetField
from webhook.metadata import annotation, label, texts
from webhook.stored_components import component_pairs, is_suspended, spec_of

_MARK: Final = ("metadata", "annotations", ANNOTATION_SUBMITTED_SUSPENDED)
_SUSPEND: Final = ("spec", "suspend")
_TRUE: Final = "true"
_PATCH: Final = '{"spec":{"suspend":true}}'
_NOT_SUSPENDED: Final = (
    "spec.suspend is put back: the file said true when it was submitted, too, and it was started "
    f"since; to suspend it: kubectl patch appwrapper NAME --type=merge -p '{_PATCH}'"
)


def note_submitted_suspend(request: AdmissionRequest, _facts: Facts) -> Iterator[SetField]:
    """Files that say `suspend: true`, as many written for Kueue do: again, they suspend nothing.

    On CREATE: that the user wrote it. Kueue's own comes after us.

    Kueue turns it to false when it starts the AppWrapper. The file would turn it back, and so kill
    and restart every pod, though its user only applied it once more.
    """
    if is_suspended(request.object):
        yield SetField(_MARK, _TRUE)


def keep_running(request: AdmissionRequest, _facts: Facts) -> Iterator[Change | AdmissionWarning]:
    """Files that say `suspend: true`, as many written for Kueue do: again, they suspend nothing.

    On UPDATE of what is not suspended: it stays so if its file comes again.

    A file is known by its components, which are as they were submitted and not as they are stored.
    So `kubectl patch` suspends, and so does a file that said nothing of it before. A file that
    names another queue is another one: only what is suspended may go there.
    """
    stored = request.old_object
    if (mark := annotation(stored, ANNOTATION_SUBMITTED_SUSPENDED)) is not None:
        yield SetField(_MARK, mark)
    if is_suspended(stored):
        return
    if not is_suspended(request.object):
        yield _as_stored(stored)  # false and absent mean the same
    elif mark == _TRUE and _is_the_file(request):
        yield _as_stored(stored)
        yield from _infos_as_stored(request)
        yield AdmissionWarning(_NOT_SUSPENDED)


def _as_stored(stored: JsonObject | None) -> Change:
    spec = spec_of(stored)
    return SetField(_SUSPEND, spec["suspend"]) if "suspend" in spec else RemoveField(_SUSPEND)


def _infos_as_stored(request: AdmissionRequest) -> Iterator[SetField]:
    """Whoever suspends may drop them, but nobody does."""
    for index, (stored, _sent) in enumerate(component_pairs(request)):
        if infos := stored.get("podSetInfos"):
            yield SetField(("spec", "components", index, "podSetInfos"), infos)


def _is_the_file(request: AdmissionRequest) -> bool:
    queue = label(request.object, LABEL_QUEUE_NAME)
    if queue and queue != label(request.old_object, LABEL_QUEUE_NAME):
        return False
    is_another_form = False
    for stored, sent in component_pairs(request):
        submitted = texts(stored.get("annotations")).get(ANNOTATION_SUBMITTED_DIGEST)
        if submitted is None or component_digest(sent) != submitted:
            return False
        is_another_form = is_another_form or component_digest(stored) != submitted
    return is_another_form
