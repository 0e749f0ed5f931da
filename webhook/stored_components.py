"""The stored components of an AppWrapper beside those that an UPDATE sends for them. Pure."""

from shared.api.json import JsonObject, JsonValue
from webhook.admission_review import AdmissionRequest


def component_pairs(request: AdmissionRequest) -> list[tuple[JsonObject, JsonObject]]:
    """Stored and sent, by index; [] where their numbers differ, which validation refuses.

    A component that is no object is {}.
    """
    stored, sent = _components(request.old_object), _components(request.object)
    if len(stored) != len(sent):
        return []
    return [(_object(old), _object(new)) for old, new in zip(stored, sent, strict=True)]


def is_suspended(target: JsonObject | None) -> bool:
    """Whether spec.suspend is true; Kueue removes it when it starts something."""
    return spec_of(target).get("suspend") is True


def spec_of(target: JsonObject | None) -> JsonObject:
    """The spec; {} where there is none."""
    return _object(target.get("spec")) if target is not None else {}


def _components(target: JsonObject | None) -> list[JsonValue]:
    components = spec_of(target).get("components")
    return components if isinstance(components, list) else []


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
