"""Small programs, given as bytes, that break a JSON document.

Coverage-guided fuzzing and property tests share them: both are good at finding bytes.
"""

from collections.abc import Callable, Iterator
from typing import Any

import orjson

from tests.fuzz.hostile import KINDS, VALUES

_MOST_EDITS = 16
_LARGEST_COPY = 4096
_MANY = 101
_BYTES = 4  # of one edit: what to do, where (two), and with what
_KEYS = (
    *("", "spec", "metadata", "template", "a.b", "a/b~c", "x" * 70, "replicas", "path"),
    *("podSets", "podSetInfos", "labels", "annotations", "finalizers", "ownerReferences", "name"),
    *("generateName", "namespace", "deletionTimestamp", "suspend", "managedBy", "resourceClaims"),
    *("schedulerName", "affinity", "ttlSecondsAfterFinished", "overhead", "status"),
)

_Place = tuple[Any, Any]  # a container, and a key or index in it


def edited(document: Any, program: bytes) -> Any:
    """A copy of `document` after at most 16 edits; what does not make one is left out."""
    root: dict[str, Any] = {"": orjson.loads(orjson.dumps(document))}
    for start in range(0, min(len(program), _MOST_EDITS * _BYTES), _BYTES):
        edit = program[start : start + _BYTES].ljust(_BYTES, b"\0")
        root.setdefault("", None)
        places = list(_places(root[""])) or [(root, "")]
        container, key = places[int.from_bytes(edit[1:3], "big") % len(places)]
        _EDITS[edit[0] % len(_EDITS)](container, key, edit[3], places)
    return root.get("") if can_be_sent(root) else document


def _places(root: Any) -> Iterator[_Place]:
    pending = [root] if isinstance(root, dict | list) else []
    while pending:
        container = pending.pop()
        keys = list(container) if isinstance(container, dict) else list(range(len(container)))
        for key in keys:
            yield container, key
            if isinstance(container[key], dict | list):
                pending.append(container[key])


def _put_hostile(container: Any, key: Any, argument: int, _places: list[_Place]) -> None:
    container[key] = _copy(VALUES[argument % len(VALUES)])


def _put_from_elsewhere(container: Any, key: Any, argument: int, places: list[_Place]) -> None:
    other, there = places[argument % len(places)]
    container[key] = _copy(other[there])


def _remove(container: Any, key: Any, _argument: int, _places: list[_Place]) -> None:
    del container[key]


def _wrap_in_array(container: Any, key: Any, _argument: int, _places: list[_Place]) -> None:
    container[key] = [container[key]]


def _wrap_in_object(container: Any, key: Any, argument: int, _places: list[_Place]) -> None:
    container[key] = {_KEYS[argument % len(_KEYS)]: container[key]}


def _add(container: Any, key: Any, argument: int, _places: list[_Place]) -> None:
    value = container[key]
    if isinstance(value, dict):
        value[_KEYS[argument % len(_KEYS)]] = _copy(VALUES[-1 - argument % len(VALUES)])
    elif isinstance(value, list):
        value += _copy(value[:8]) or []
        if argument >= 0xF0 and value and len(orjson.dumps(value[0])) <= _LARGEST_COPY // 8:
            value += [_copy(value[0]) for _ in range(_MANY)]


def _give_another_kind(container: Any, key: Any, argument: int, _places: list[_Place]) -> None:
    if isinstance(container[key], dict):
        api_version, kind = KINDS[argument % len(KINDS)]
        container[key] |= {"apiVersion": api_version, "kind": kind}


def _alter(container: Any, key: Any, argument: int, _places: list[_Place]) -> None:
    value = container[key]
    if isinstance(value, str):
        container[key] = value[: argument % (len(value) + 1)]
    elif isinstance(value, int | float):
        # No sum beyond what the encoder takes: 64 bits.
        container[key] = str(value) if argument % 2 else max(-(2**62), min(value, 2**62)) + argument


_EDITS: tuple[Callable[[Any, Any, int, list[_Place]], None], ...] = (
    _put_hostile,
    _put_from_elsewhere,
    _remove,
    _wrap_in_array,
    _wrap_in_object,
    _add,
    _give_another_kind,
    _alter,
    _put_hostile,  # twice: most of what is found comes from it
)


def _copy(value: Any) -> Any:
    """Of small values only: each edit could otherwise double the document."""
    if not can_be_sent(value):
        return None
    encoded = orjson.dumps(value)
    return orjson.loads(encoded) if len(encoded) <= _LARGEST_COPY else None


def can_be_sent(value: Any) -> bool:
    """In a review, which is what encoders can follow: to about 250 levels."""
    try:
        orjson.dumps([[[value]]])
    except orjson.JSONEncodeError:
        return False
    return True
