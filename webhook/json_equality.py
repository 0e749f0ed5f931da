"""Whether two JSON values are the same, and where they differ first. Pure.

Python takes True for 1; JSON does not. Numbers are one type: 1 and 1.0 are the same. A key whose
value is null is as good as absent, as it is to the API server's decoders: its merge patches, which
Kueue sends, drop such keys within arrays.
"""

from collections.abc import Iterator

import orjson

from shared.api.json import JsonObject, JsonValue

# The steps to a place, the last one first: texts are made only of those that are told.
_Place = tuple["_Place", str] | None
_Pair = tuple[JsonValue, JsonValue]


def first_difference(left: JsonValue, right: JsonValue) -> str | None:
    """None when equal; else the place, such as `.spec.containers[0].image` ("" for the root).

    The order of keys does not matter. Where there are several places, one that `right` has wins
    over one that it merely lacks: the former is what somebody changed, the latter may be what
    admission had added.
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
    """Whether both are written alike, save for the order of keys; 1 and 1.0 are not."""
    try:
        return _encoded(left) == _encoded(right)
    except orjson.JSONEncodeError:  # nested deeper than the encoder goes; walking has no limit
        return _are_alike(left, right)


def _are_alike(left: JsonValue, right: JsonValue) -> bool:
    pending: list[_Pair] = [(left, right)]
    while pending:
        one, other = pending.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, dict):
            if one.keys() != other.keys():
                return False
            pending += [(one[key], other[key]) for key in one]
        elif isinstance(one, list):
            if len(one) != len(other):
                return False
            pending += zip(one, other, strict=True)
        elif one != other:
            return False
    return True


def _differences(left: JsonValue, right: JsonValue) -> Iterator[tuple[_Place, bool]]:
    """Each place, and whether `right` lacks what is there. No recursion: any depth will do."""
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
    """In `one`'s order, then what only `other` has. What is absent is None, like null."""
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
