"""The three kinds of PATCH, as functions from an object and a patch to the new object."""

from collections.abc import Sequence
from typing import Any, Final

import jsonpatch

from shared.api.objects import JsonObject, JsonValue
from shared.kube.responses import api_error

_KEYS_OF_LISTS: Final = {"conditions": "type", "containers": "name", "ownerReferences": "uid"}


def merge(target: JsonValue, patch: JsonValue) -> JsonValue:
    """Return the JSON merge patch (RFC 7386) of `target`, which stays unchanged."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def json_patch(target: JsonObject, operations: Sequence[JsonObject]) -> JsonObject:
    """Return the JSON patch (RFC 6902) of `target`. Raise Invalid if an operation fails."""
    try:
        patched: JsonObject = jsonpatch.apply_patch(target, list(operations))
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        raise api_error(422, "Invalid", f"the JSON patch failed: {error}") from error
    return patched


def applied(target: JsonValue, configuration: JsonValue, field: str = "") -> JsonValue:
    """Return `target` with a forced server-side apply, whose manager never gives up a field.

    The product's only manager always applies the same field, so ownership is not simulated.
    """
    if isinstance(configuration, dict):
        merged = dict(target) if isinstance(target, dict) else {}
        for key, value in configuration.items():
            merged[key] = applied(merged.get(key), value, key)
        return merged
    key = _KEYS_OF_LISTS.get(field)
    if key is None or not isinstance(configuration, list) or not isinstance(target, list):
        return configuration
    return _merged_by(key, target, configuration)


def _merged_by(key: str, known: list[Any], wanted: list[Any]) -> list[Any]:
    """Merge two lists whose items are identified by the field `key`."""
    merged = {each[key]: each for each in known}
    for each in wanted:
        merged[each[key]] = applied(merged.get(each[key]), each)
    return list(merged.values())
