"""From changes to a JSON patch (RFC 6902). Pure.

Rules say what a field should be; only here is it known how few operations that takes. A value that
is there already costs none, and several values below a missing object come with it in one.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from shared.api.json import JsonObject, JsonValue
from webhook.json_equality import is_identical

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SetField:
    """The field at `path` (from the object's root) shall be `value`.

    `path` holds keys, and indices of array elements that exist; its last element is a key.
    """

    path: Path
    value: JsonValue


@dataclass(frozen=True, slots=True)
class RemoveField:
    """There shall be no field at `path`, which is as in SetField."""

    path: Path


Change = SetField | RemoveField


def to_patch(target: JsonObject, changes: Iterable[Change]) -> list[JsonObject]:
    """The operations that bring `changes` about in `target`; [] when all is as it should be.

    A later change of the same path wins. What is no object on the way is replaced by one.
    """
    operations: dict[Path, JsonObject] = {}
    for change in changes:
        depth = _existing_depth(target, change.path)
        anchor = change.path[: depth + 1]
        is_there = depth == len(change.path) - 1 and _is_there(target, change.path)
        if isinstance(change, RemoveField):
            operations.pop(change.path, None)
            if is_there:
                operations[anchor] = {"op": "remove", "path": _pointer(anchor)}
        elif is_there and is_identical(_value_at(target, change.path), change.value):
            operations.pop(anchor, None)
        else:
            before = operations.get(anchor, {}).get("value", {})
            value = _with(before, change.path[depth + 1 :], change.value)
            # Added to an array, it would push the element aside instead of taking its place.
            kind = "replace" if isinstance(anchor[-1], int) else "add"
            operations[anchor] = {"op": kind, "path": _pointer(anchor), "value": value}
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


def _is_there(target: JsonObject, path: Path) -> bool:
    """Whether there is a field at `path`, whose parents exist."""
    return path[-1] in _value_at(target, path[:-1])


def _value_at(target: JsonObject, path: Path) -> JsonValue:
    place: JsonValue = target
    for step in path:
        place = place[step]
    return place


def _with(value: JsonValue, path: Path, leaf: JsonValue) -> JsonValue:
    """`value` with `leaf` at `path`; a rule's own objects are never written to."""
    if not path:
        return leaf
    step, *rest = path
    key = str(step)
    there = value if isinstance(value, dict) else {}
    return {**there, key: _with(there.get(key, {}), tuple(rest), leaf)}


def _pointer(path: Path) -> str:
    """RFC 6901."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
