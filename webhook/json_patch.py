"""From changes to a JSON patch (RFC 6902). Pure.

Rules say what a field should be; only here is it known how few operations that takes. A value that
is there already costs none, and several values below a missing object come with it in one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from shared.api.json import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class SetField:
    """The field at `path` (keys from the object's root) shall be `value`."""

    path: tuple[str, ...]
    value: JsonValue


def to_patch(target: JsonObject, changes: Iterable[SetField]) -> list[JsonObject]:
    """The operations that bring `changes` about in `target`; [] when all is as it should be.

    A later change of the same path wins. What is no object on the way is replaced by one.
    """
    operations: dict[tuple[str, ...], JsonObject] = {}
    for change in changes:
        depth = _existing_depth(target, change.path)
        anchor = change.path[: depth + 1]
        if depth == len(change.path) - 1 and _present(target, change.path) == [change.value]:
            operations.pop(anchor, None)
            continue
        operation = operations.setdefault(
            anchor, {"op": "add", "path": _pointer(anchor), "value": {}}
        )
        if depth == len(change.path) - 1:
            operation["value"] = change.value
        else:
            operation["value"] = _with(operation["value"], change.path[depth + 1 :], change.value)
    return list(operations.values())


def _existing_depth(target: JsonObject, path: tuple[str, ...]) -> int:
    """How many keys of `path` lead to objects that exist; the last key is never counted."""
    place: JsonValue = target
    for depth, key in enumerate(path[:-1]):
        place = place.get(key)
        if not isinstance(place, dict):
            return depth
    return len(path) - 1


def _present(target: JsonObject, path: tuple[str, ...]) -> list[JsonValue]:
    """The value at `path` in a list, or [] if its key is missing; its parents exist."""
    place: JsonValue = target
    for key in path[:-1]:
        place = place[key]
    return [place[path[-1]]] if path[-1] in place else []


def _with(value: JsonObject, path: tuple[str, ...], leaf: JsonValue) -> JsonObject:
    """`value` with `leaf` at `path`; a rule's own objects are never written to."""
    key, *rest = path
    inner = value.get(key)
    if rest:
        leaf = _with(inner if isinstance(inner, dict) else {}, tuple(rest), leaf)
    return {**value, key: leaf}


def _pointer(path: tuple[str, ...]) -> str:
    """RFC 6901."""
    return "".join("/" + key.replace("~", "~0").replace("/", "~1") for key in path)
