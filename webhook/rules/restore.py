"""Restore fields that an UPDATE drops: a file that is applied again changes nothing."""

import re
from collections.abc import Iterator
from typing import Final

from shared.api.appwrapper import is_ours
from shared.api.component_digest import component_digest, counted_pod_sets
from shared.api.findings import AdmissionWarning
from shared.api.names import (
    ANNOTATION_SUBMITTED_DIGEST,
    ANNOTATION_SUBMITTED_SUSPENDED,
    FINALIZER,
    LABEL_QUEUE_NAME,
)
from shared.api.objects import JsonObject, JsonValue, annotation, label, metadata, texts
from webhook.admission_review import AdmissionRequest
from webhook.rules.json_patch import (
    Change,
    Path,
    SetField,
    as_stored,
    first_difference,
    is_identical,
)
from webhook.rules.pod_sets import declare_pod_sets
from webhook.rules.pod_templates import fill_in_pod_templates
from webhook.rules.queue import TO_STOP
from webhook.rules.submission import (
    Submission,
    component_pairs,
    is_suspended,
    spec_of,
    submitted_components,
)

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def write_submitted_digest(submission: Submission) -> Iterator[Change]:
    """Record a digest of each component as the user submitted it, to recognize the same file later.

    On CREATE: in the component's annotations, in place of any value that the user wrote there.

    A component that this rule changed before keeps its digest. Annotations that are no object stay:
    the API server rejects them.
    """
    incomplete: set[int | str] | None = None
    for index, component, _template in submitted_components(submission.request):
        annotations = component.get("annotations")
        if annotations is not None and not isinstance(annotations, dict):
            continue
        if annotations and _is_digest(annotations.get(ANNOTATION_SUBMITTED_DIGEST)):
            # An earlier mutation may have written it, if the component lacks no other field. If
            # the user wrote it, a file with this digest counts as the stored one: no change.
            incomplete = _incomplete(submission) if incomplete is None else incomplete
            if index not in incomplete:
                continue
        path = ("spec", "components", index, "annotations", ANNOTATION_SUBMITTED_DIGEST)
        yield SetField(path, component_digest(component))


def _is_digest(value: JsonValue) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def _incomplete(submission: Submission) -> set[int | str]:
    """Return the indices of components that other mutation rules change."""
    changes = [*fill_in_pod_templates(submission), *declare_pod_sets(submission)]
    return {change.path[2] for change in changes}


def keep_components(submission: Submission) -> Iterator[Change]:
    """Restore the fields that admission and Kueue wrote into a component, if its file is applied
    again.

    On UPDATE: a component that equals the stored one, or the one first submitted, becomes the
    stored one.

    `kubectl apply` and `kubectl replace` send the components as the file has them, without injected
    and inferred fields and without Kueue's podSetInfos: the next attempt would run anywhere. The
    user's own annotations stay as sent. Another component stays as sent: validation rejects it.
    """
    # A request that suspends may clear podSetInfos, and Kueue may always change them.
    keeps_infos = not (
        is_suspended(submission.object)
        or submission.request.user.name in submission.config.exemptions.quota_managers
    )
    for index, (stored, sent) in enumerate(component_pairs(submission.request)):
        if is_identical(stored, sent):
            continue  # the usual case
        if _is_stored(stored, sent) or _was_submitted(stored, sent):
            yield from _put_back(("spec", "components", index), stored, sent)
            if keeps_infos and not sent.get("podSetInfos"):
                yield as_stored(("spec", "components", index, "podSetInfos"), stored)


def _is_stored(stored: JsonObject, sent: JsonObject) -> bool:
    same_template = first_difference(stored.get("template"), sent.get("template")) is None
    return same_template and _are_same_pod_sets(stored.get("podSets"), sent.get("podSets"))


def _are_same_pod_sets(stored: JsonValue, sent: JsonValue) -> bool:
    return first_difference(counted_pod_sets(stored), counted_pod_sets(sent)) is None


def _was_submitted(stored: JsonObject, sent: JsonObject) -> bool:
    """True if its digest equals the recorded one. The Go operator records none: False."""
    digest = _digest(stored)
    return digest is not None and component_digest(sent) == digest


def _put_back(path: Path, stored: JsonObject, sent: JsonObject) -> Iterator[Change]:
    if not is_identical(stored.get("template"), sent.get("template")):
        yield as_stored((*path, "template"), stored)
    if sent.get("podSets") and _are_same_pod_sets(stored.get("podSets"), sent["podSets"]):
        yield SetField((*path, "podSets"), _with_annotations_as_sent(stored, sent))
    else:
        yield as_stored((*path, "podSets"), stored)
    digest = _digest(stored)
    if digest is not None:
        yield SetField((*path, "annotations", ANNOTATION_SUBMITTED_DIGEST), digest)


def _with_annotations_as_sent(stored: JsonObject, sent: JsonObject) -> JsonValue:
    """Return podSets with path and replicas (Kueue counts by these) as stored, the rest as sent."""
    before, after = stored["podSets"], sent["podSets"]
    if not isinstance(before, list) or not isinstance(after, list):
        return before
    return [_merged(*pair) for pair in zip(before, after, strict=True)]


def _merged(before: JsonValue, after: JsonValue) -> JsonValue:
    if not isinstance(before, dict) or not isinstance(after, dict):
        return before
    counted = ("path", "replicas")
    return {key: value for key, value in after.items() if key not in counted} | {
        key: before[key] for key in counted if key in before
    }


def _digest(component: JsonObject) -> str | None:
    return texts(component.get("annotations")).get(ANNOTATION_SUBMITTED_DIGEST)


def add_finalizer(submission: Submission) -> Iterator[SetField]:
    """Add the controller's finalizer, unless `managedBy` names another controller.

    On CREATE. Otherwise the controller adds it before it creates the components, with a request of
    its own.
    """
    sent = _finalizers(submission.object)
    if FINALIZER not in sent and is_ours(spec_of(submission.object)):
        yield SetField(("metadata", "finalizers"), [*sent, FINALIZER])


def keep_finalizer(submission: Submission) -> Iterator[SetField]:
    """Restore the controller's finalizer if an UPDATE drops it.

    On UPDATE: if it is stored and the object is not being deleted.

    `kubectl replace` of a file drops it. Without it a deletion would release the quota before the
    pods are gone; with `--cascade=orphan` the pods would keep running without quota. The rule
    restores no other finalizers. A user who has deleted the object may remove this finalizer, too.
    """
    stored, sent = _finalizers(submission.old_object), _finalizers(submission.object)
    if FINALIZER in stored and FINALIZER not in sent:
        # Sets, for speed: every user may write 100,000 finalizers into an object.
        before, wanted = _names(stored), {FINALIZER, *_names(sent)}
        kept = [each for each in stored if isinstance(each, str) and each in wanted]
        added = [each for each in sent if not (isinstance(each, str) and each in before)]
        yield SetField(("metadata", "finalizers"), kept + added)


def _finalizers(target: JsonObject | None) -> list[JsonValue]:
    found = metadata(target).get("finalizers")
    return found if isinstance(found, list) else []


def _names(finalizers: list[JsonValue]) -> set[str]:
    return {each for each in finalizers if isinstance(each, str)}


_MARK: Final = ("metadata", "annotations", ANNOTATION_SUBMITTED_SUSPENDED)
_SUSPEND: Final = ("spec", "suspend")
_TRUE: Final = "true"
_PATCH: Final = '{"spec":{"suspend":true}}'
_NOT_SUSPENDED: Final = (
    "spec.suspend stays false: it was already true in the file when the AppWrapper was created; "
)
_TO_SUSPEND: Final = (
    f"to suspend the AppWrapper: kubectl patch appwrapper NAME --type=merge -p '{_PATCH}'"
)


def note_submitted_suspend(submission: Submission) -> Iterator[SetField]:
    """Record that the file has `suspend: true`, as many files for Kueue do.

    On CREATE: only the user's value. Kueue's webhook sets its own after this one.

    Kueue sets suspend to false when it starts the AppWrapper. Another `kubectl apply` of the file
    would set it to true again, and so delete and restart every pod.
    """
    if is_suspended(submission.object):
        yield SetField(_MARK, _TRUE)


def keep_running(submission: Submission) -> Iterator[Change | AdmissionWarning]:
    """Keep suspend false if a file with `suspend: true` is applied again.

    On UPDATE of an AppWrapper that is not suspended.

    The rule recognizes a file by its components: they are as submitted, not as stored. So `kubectl
    patch` suspends, and so does a file that did not have suspend before. A file that names another
    queue counts as another file: only a suspended AppWrapper may move there.
    """
    stored = submission.old_object
    if (mark := annotation(stored, ANNOTATION_SUBMITTED_SUSPENDED)) is not None:
        yield SetField(_MARK, mark)
    if is_suspended(stored):
        return
    if not is_suspended(submission.object):
        yield as_stored(_SUSPEND, spec_of(stored))  # false and absent mean the same
    elif mark == _TRUE and _is_the_file(submission.request):
        yield as_stored(_SUSPEND, spec_of(stored))
        yield from _infos_as_stored(submission.request)
        instead = TO_STOP if label(stored, LABEL_QUEUE_NAME) else _TO_SUSPEND
        yield AdmissionWarning(f"{_NOT_SUSPENDED}{instead}")


def _infos_as_stored(request: AdmissionRequest) -> Iterator[SetField]:
    """Restore podSetInfos; `keep_components` did not, because the request suspends."""
    for index, (stored, _sent) in enumerate(component_pairs(request)):
        if infos := stored.get("podSetInfos"):
            yield SetField(("spec", "components", index, "podSetInfos"), infos)


def _is_the_file(request: AdmissionRequest) -> bool:
    queue = label(request.object, LABEL_QUEUE_NAME)
    if queue and queue != label(request.old_object, LABEL_QUEUE_NAME):
        return False
    is_another_form = False
    for stored, sent in component_pairs(request):
        submitted = _digest(stored)
        if submitted is None or component_digest(sent) != submitted:
            return False
        is_another_form = is_another_form or component_digest(stored) != submitted
    return is_another_form
