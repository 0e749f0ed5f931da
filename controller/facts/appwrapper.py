"""An AppWrapper as the controller remembers it: whole, since components are created from it."""

from typing import Final

from shared.api.json import JsonObject

# Each is about as large as the spec, and nothing is ever decided on them.
_UNREAD_ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"


def project_appwrapper(raw: JsonObject) -> JsonObject:
    """The object without what only other writers read. It must never be written back whole."""
    metadata = {key: value for key, value in raw["metadata"].items() if key != "managedFields"}
    annotations = metadata.get("annotations")
    if annotations and _UNREAD_ANNOTATION in annotations:
        metadata["annotations"] = {
            key: value for key, value in annotations.items() if key != _UNREAD_ANNOTATION
        }
    return {**raw, "metadata": metadata}
