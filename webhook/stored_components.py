"""The stored components of an AppWrapper beside those that an UPDATE sends for them. Pure."""

from shared.api.json import JsonObject, JsonValue
from webhook.admission_review import AdmissionRequest
from webhook.json_equality import first_difference


def component_pairs(request: AdmissionRequest) -> list[tuple[JsonObject, JsonObject]]:
    """Stored and sent, by index; [] where their numbers differ, which validation refuses.

    A component that is no object is {}.
    """
    stored, sent = _components(request.old_object), _components(request.object)
    if len(stored) != len(sent):
        return []
    return [(_object(old), _object(new)) for old, new in zip(stored, sent, strict=True)]


def are_same_pod_sets(stored: JsonValue, sent: JsonValue) -> bool:
    """Whether two `podSets` agree in paths and replicas, all that Kueue counts by."""
    return first_difference(_paths_and_replicas(stored), _paths_and_replicas(sent)) is None


def replicas_of(pod_set: JsonValue) -> JsonValue:
    """Absent and null mean 1: Kueue may write either."""
    replicas = _object(pod_set).get("replicas")
    return 1 if replicas is None else replicas


def is_suspended(target: JsonObject | None) -> bool:
    """Whether spec.suspend is true; Kueue removes it when it starts something."""
    return spec_of(target).get("suspend") is True


def spec_of(target: JsonObject | None) -> JsonObject:
    """The spec; {} where there is none."""
    return _object(target.get("spec")) if target is not None else {}


def _paths_and_replicas(pod_sets: JsonValue) -> JsonValue:
    """What is malformed stays as it is, for validation to refuse."""
    if not pod_sets:
        return []
    if not isinstance(pod_sets, list):
        return pod_sets
    return [
        [each.get("path"), replicas_of(each)] if isinstance(each, dict) else each
        for each in pod_sets
    ]


def _components(target: JsonObject | None) -> list[JsonValue]:
    components = spec_of(target).get("components")
    return components if isinstance(components, list) else []


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
