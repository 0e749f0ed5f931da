"""Reading metadata of objects that nothing has validated yet. Pure."""

from shared.api.json import JsonObject, JsonValue


def label(target: JsonObject | None, key: str) -> str | None:
    """The value of a label; None where the label, the labels or the metadata are missing."""
    labels = metadata(target).get("labels")
    value = labels.get(key) if isinstance(labels, dict) else None
    return value if isinstance(value, str) else None


def annotation(target: JsonObject | None, key: str) -> str | None:
    """The value of an annotation; None where anything on the way is missing."""
    return annotations(target).get(key)


def annotations(target: JsonObject | None) -> dict[str, str]:
    """The annotations; {} where there are none. What is no text is left out."""
    return texts(metadata(target).get("annotations"))


def texts(value: JsonValue) -> dict[str, str]:
    """The entries of an object whose values are texts; {} for what is no object."""
    if not isinstance(value, dict):
        return {}
    return {key: text for key, text in value.items() if isinstance(text, str)}


def metadata(target: JsonObject | None) -> JsonObject:
    """The metadata; {} where there is none."""
    found = target.get("metadata") if target is not None else None
    return found if isinstance(found, dict) else {}


def is_being_deleted(target: JsonObject | None) -> bool:
    """Whether the object has a deletionTimestamp."""
    return bool(metadata(target).get("deletionTimestamp"))
