"""Write changes of an object as a JSON patch, and compare JSON values."""

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import orjson

from shared.api.objects import JsonObject, JsonValue

# All values here can be encoded: `parse_review` refuses others. Aliases in a file can nest deeper;
# the command then fails.

# The steps to a place, the last one first. Only a reported place is written as text.
_Place = tuple["_Place", str] | None
_Pair = tuple[JsonValue, JsonValue]


def first_difference(left: JsonValue, right: JsonValue) -> str | None:
    """Return the first different place, such as `.spec.containers[0].image` ("" for the root).

    Return None if both are equal; the order of keys does not matter. A place that `right` has takes
    precedence over one that it lacks: a user changed the former, while admission may have added the
    latter.
    """
    if is_identical(left, right):
        return None
    lacking: list[_Place] = []
    for place, is_lacking in _differences(left, right):
        if not is_lacking:
            return _text(place)
        if not lacking:
            lacking.append(place)
    return _text(lacking[0]) if lacking else None


def is_identical(left: JsonValue, right: JsonValue) -> bool:
    """True if both have the same JSON except for the order of keys; 1 and 1.0 differ."""
    return _encoded(left) == _encoded(right)


def _differences(left: JsonValue, right: JsonValue) -> Iterator[tuple[_Place, bool]]:
    """Yield each different place, and whether `right` lacks it. No recursion: any depth works."""
    pending: list[tuple[_Place, _Pair]] = [(None, (left, right))]
    while pending:
        place, (one, other) = pending.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            pending += reversed([((place, f".{key}"), pair) for key, pair in _by_key(one, other)])
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                yield place, len(one) > len(other)
            pairs = enumerate(zip(one, other, strict=False))
            pending += reversed([((place, f"[{index}]"), pair) for index, pair in pairs])
        elif isinstance(one, bool) is not isinstance(other, bool) or one != other:
            yield place, other is None


def _by_key(one: JsonObject, other: JsonObject) -> Iterator[tuple[str, _Pair]]:
    """Yield pairs in `one`'s order, then those of `other` alone. Absent is None, like null."""
    for key in one:
        yield key, (one[key], other.get(key))
    for key in other:
        if key not in one:
            yield key, (None, other[key])


def _text(place: _Place) -> str:
    steps: list[str] = []
    while place is not None:
        place, step = place
        steps.append(step)
    return "".join(reversed(steps))


def _encoded(value: JsonValue) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


# From changes to a JSON patch (RFC 6902).
#
# Rules set fields; this part finds the fewest operations. A value that exists already needs none,
# and several values below a missing object need one.

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class SetField:
    """Set the field at `path` (from the object's root) to `value`.

    `path` holds keys, and indices of existing array elements; its last element is a key.
    """

    path: Path
    value: JsonValue


@dataclass(frozen=True, slots=True)
class RemoveField:
    """Remove the field at `path`, which is as in SetField."""

    path: Path


Change = SetField | RemoveField


def as_stored(path: Path, parent: JsonObject) -> Change:
    """Return the change that restores the field at `path`; `parent` is its stored parent."""
    key = path[-1]
    return SetField(path, parent[key]) if key in parent else RemoveField(path)


def to_patch(target: JsonObject, changes: Iterable[Change]) -> list[JsonObject]:
    """Return the operations that make `changes` in `target`; [] if none is needed.

    A later change of the same path wins. An object replaces any other value on a path.
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
            # In an array "add" would insert the value before the element, not replace it.
            kind = "replace" if isinstance(anchor[-1], int) else "add"
            operations[anchor] = {"op": kind, "path": _pointer(anchor), "value": value}
    return list(operations.values())


def _existing_depth(target: JsonObject, path: Path) -> int:
    """Return how many steps of `path` lead to an existing value, without the last step."""
    place: JsonValue = target
    for depth, step in enumerate(path[:-1]):
        place = place[step] if isinstance(step, int) else place.get(step)
        # If the container for the next step is missing, it becomes part of the new value.
        if not isinstance(place, list if isinstance(path[depth + 1], int) else dict):
            return depth
    return len(path) - 1


def _is_there(target: JsonObject, path: Path) -> bool:
    """True if there is a field at `path`, whose parents exist."""
    return path[-1] in _value_at(target, path[:-1])


def _value_at(target: JsonObject, path: Path) -> JsonValue:
    place: JsonValue = target
    for step in path:
        place = place[step]
    return place


def _with(value: JsonValue, path: Path, leaf: JsonValue) -> JsonValue:
    """Return a copy of `value` with `leaf` at `path`: never write into a rule's own objects."""
    if not path:
        return leaf
    step, *rest = path
    key = str(step)
    there = value if isinstance(value, dict) else {}
    return {**there, key: _with(there.get(key, {}), tuple(rest), leaf)}


def applied(target: JsonObject, patch: Iterable[JsonObject]) -> JsonObject:
    """Return a copy of `target` after the operations of `to_patch`, as the API server does it."""
    changed: JsonObject = copy.deepcopy(target)
    for operation in patch:
        *way, last = (
            step.replace("~1", "/").replace("~0", "~")
            for step in operation["path"].removeprefix("/").split("/")
        )
        place: JsonValue = changed
        for step in way:
            place = place[int(step)] if isinstance(place, list) else place[step]
        key = int(last) if isinstance(place, list) else last
        if operation["op"] == "remove":
            del place[key]
        else:
            place[key] = copy.deepcopy(operation["value"])
    return changed


def _pointer(path: Path) -> str:
    """Write the path as RFC 6901."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)
