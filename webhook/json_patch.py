"""From changes to a JSON patch (RFC 6902). Pure.

Rules say what a field should be; only here is it known how few operations that takes. A value that
is there already costs none, and several values below a missing object come with it in one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from shared.api.json import JsonObject, JsonValue

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SetField:
    """The field at `path` (from the object's root) shall be `value`.

    `path` holds keys, and indices of array elements that exist; its last element is a key.
    """

    path: Path
    value: JsonValue


def to_patch(target: JsonObject, changes: Iterable[SetField]) -> list[JsonObject]:
    """The operations that bring `changes` about in `target`; [] when all is as it should be.

    A later change of the same path wins. What is no object on the way is replaced by one.
    """
    operations: dict[Path, JsonObject] = {}
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


def _existing_depth(target: JsonObject, path: Path) -> int:
    """How many steps of `path` lead to what exists; the last step is never counted."""
    place: JsonValue = target
    for depth, step in enumerate(path[:-1]):
        place = place[step] if isinstance(step, int) else place.get(step)
        # What the next step needs must be there; else it comes with the value.
        if not isinstance(place, list if isinstance(path[depth + 1], int) else dict):
            return depth
    return len(path) - 1


def _present(target: JsonObject, path: Path) -> list[JsonValue]:
    """The value at `path` in a list, or [] if its key is missing; its parents exist."""
    place: JsonValue = target
    for key in path[:-1]:
        place = place[key]
    return [place[path[-1]]] if path[-1] in place else []


def _with(value: JsonObject, path: Path, leaf: JsonValue) -> JsonObject:
    """`value` with `leaf` at `path`; a rule's own objects are never written to."""
    step, *rest = path
    key = str(step)
    inner = value.get(key)
    if rest:
        leaf = _with(inner if isinstance(inner, dict) else {}, tuple(rest), leaf)
    return {**value, key: leaf}


def _pointer(path: Path) -> str:
    """RFC 6901."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
