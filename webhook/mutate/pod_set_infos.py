"""What Kueue decided about the pods of a running AppWrapper: where they may run, as podSetInfos."""

from collections.abc import Iterator

from shared.api.json import JsonObject, JsonValue
from webhook.admission_review import AdmissionRequest
from webhook.facts import Facts
from webhook.json_patch import SetField


def keep_pod_set_infos(request: AdmissionRequest, facts: Facts) -> Iterator[SetField]:
    """On UPDATE: the stored podSetInfos of each component where the request dropped them.

    `kubectl apply` of an unchanged file sends the components as the file has them, without what
    Kueue wrote; the next attempt would then run anywhere. Whoever suspends clears them rightly,
    and Kueue itself may do as it likes.
    """
    if request.user.name in facts.config.exemptions.quota_managers or _is_suspended(request.object):
        return
    before, after = _components(request.old_object), _components(request.object)
    if len(before) != len(after):
        return  # refused by validation
    for index, (stored, sent) in enumerate(zip(before, after, strict=True)):
        infos = _infos(stored)
        if infos and isinstance(sent, dict) and not _infos(sent):
            yield SetField(("spec", "components", index, "podSetInfos"), infos)


def _infos(component: JsonValue) -> JsonValue:
    return component.get("podSetInfos") if isinstance(component, dict) else None


def _components(target: JsonObject | None) -> list[JsonValue]:
    components = _spec(target).get("components")
    return components if isinstance(components, list) else []


def _is_suspended(target: JsonObject) -> bool:
    return bool(_spec(target).get("suspend"))


def _spec(target: JsonObject | None) -> JsonObject:
    spec = target.get("spec") if target is not None else None
    return spec if isinstance(spec, dict) else {}
