"""What admission and Kueue wrote into a component, when its file comes again."""

from collections.abc import Iterator

from shared.api.component_digest import component_digest
from shared.api.json import JsonObject, JsonValue
from shared.api.names import ANNOTATION_SUBMITTED_DIGEST
from webhook.admission_review import AdmissionRequest
from webhook.facts import Facts
from webhook.json_equality import first_difference, is_identical
from webhook.json_patch import Change, Path, RemoveField, SetField
from webhook.stored_components import are_same_pod_sets, component_pairs, is_suspended


def keep_components(request: AdmissionRequest, facts: Facts) -> Iterator[Change]:
    """What admission and Kueue wrote into a component, when its file comes again.

    On UPDATE: a component that is the stored one, or the one first submitted, is as stored.

    `kubectl apply` and `kubectl replace` send the components as the file has them, without what was
    injected and inferred and without Kueue's podSetInfos: the next attempt would run anywhere. The
    user's own annotations stay as sent. Another component stays, for validation to refuse.
    """
    # Whoever suspends clears podSetInfos rightly, and Kueue itself may do as it likes.
    keeps_infos = not (
        is_suspended(request.object) or request.user.name in facts.config.exemptions.quota_managers
    )
    for index, (stored, sent) in enumerate(component_pairs(request)):
        if is_identical(stored, sent):
            continue  # as nearly always
        if _is_stored(stored, sent) or _was_submitted(stored, sent):
            yield from _put_back(("spec", "components", index), stored, sent)
            if keeps_infos and not sent.get("podSetInfos"):
                yield _as_stored(("spec", "components", index, "podSetInfos"), stored)


def _is_stored(stored: JsonObject, sent: JsonObject) -> bool:
    same_template = first_difference(stored.get("template"), sent.get("template")) is None
    return same_template and are_same_pod_sets(stored.get("podSets"), sent.get("podSets"))


def _was_submitted(stored: JsonObject, sent: JsonObject) -> bool:
    """Without a digest (the Go operator writes none) only the comparison counts."""
    digest = _digest(stored)
    return digest is not None and component_digest(sent) == digest


def _put_back(path: Path, stored: JsonObject, sent: JsonObject) -> Iterator[Change]:
    # What has no digest is too deep for any patch to carry; it equals the stored one anyway.
    is_spelt_alike = is_identical(stored.get("template"), sent.get("template"))
    if not is_spelt_alike and component_digest(stored) is not None:
        yield _as_stored((*path, "template"), stored)
    if sent.get("podSets") and are_same_pod_sets(stored.get("podSets"), sent["podSets"]):
        yield SetField((*path, "podSets"), _with_annotations_as_sent(stored, sent))
    else:
        yield _as_stored((*path, "podSets"), stored)
    digest = _digest(stored)
    if digest is not None:
        yield SetField((*path, "annotations", ANNOTATION_SUBMITTED_DIGEST), digest)


def _as_stored(path: Path, stored: JsonObject) -> Change:
    key = path[-1]
    return SetField(path, stored[key]) if key in stored else RemoveField(path)


def _with_annotations_as_sent(stored: JsonObject, sent: JsonObject) -> JsonValue:
    """podSets of which `stored` says all that Kueue counts by, and `sent` the rest."""
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
    annotations = component.get("annotations")
    digest = annotations.get(ANNOTATION_SUBMITTED_DIGEST) if isinstance(annotations, dict) else None
    return digest if isinstance(digest, str) else None
