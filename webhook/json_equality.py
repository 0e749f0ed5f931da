"""Whether two JSON values are the same, and where they differ first. Pure.

Python takes True for 1; JSON does not. Numbers are one type: 1 and 1.0 are the same.
"""

import orjson

from shared.api.json import JsonValue


def first_difference(left: JsonValue, right: JsonValue) -> str | None:
    """None when equal; else the place, such as `.spec.containers[0].image` ("" for the root).

    The order of keys does not matter.
    """
    try:
        if _canonical(left) == _canonical(right):
            return None
    except orjson.JSONEncodeError:
        pass  # nested deeper than the encoder goes; walking has no such limit
    pending: list[tuple[str, JsonValue, JsonValue]] = [("", left, right)]
    while pending:
        path, one, other = pending.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return f"{path}.{min(one.keys() ^ other.keys())}"
            pending += reversed([(f"{path}.{key}", one[key], other[key]) for key in one])
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return path
            pairs = enumerate(zip(one, other, strict=True))
            pending += reversed([(f"{path}[{index}]", *pair) for index, pair in pairs])
        elif isinstance(one, bool) is not isinstance(other, bool) or one != other:
            return path
    return None


def _canonical(value: JsonValue) -> bytes:
    """Equal texts are equal values; the converse does not hold (1 and 1.0)."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
