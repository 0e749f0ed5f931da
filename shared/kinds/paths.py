"""Paths of pod templates inside a component, such as `template.spec.template`.

The grammar is the Go operator's, because Kueue follows the same paths: `template` first, then
`.key` and `[n]`. Keys with dots or brackets in them cannot be named.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from shared.api.json import JsonObject, JsonValue, type_of
from shared.kinds.pod_set import PodSetPathError

ROOT: Final = "template"
_ELEMENT: Final = re.compile(r"\.(?P<key>[^.\[\]]+)|\[(?P<index>[^\]]*)\]")
_LONGEST_REMEMBERED: Final = 200  # characters; users can declare paths of any length
_LONGEST_SHOWN: Final = 200
_INDEX: Final = re.compile(r"[0-9]{1,9}")


def template_at(template: JsonObject, path: str) -> JsonObject:
    """The pod template at `path` of a component whose `template` is given; not a copy.

    For a Pod the path is `template` and the result the Pod itself. Raises PodSetPathError when the
    path leads nowhere or to something without a `spec` object.
    """
    found = value_at(template, path)
    if not isinstance(found, dict):
        raise PodSetPathError(f"{_cut(path)} is {type_of(found)}, not a pod template")
    if not isinstance(found.get("spec"), dict):
        raise PodSetPathError(f"{_cut(path)} has no spec object, so it is not a pod template")
    return found


def value_at(template: JsonObject, path: str) -> JsonValue:
    """Whatever is at `path`. Raises PodSetPathError, naming the place where the path breaks."""
    value: JsonValue = template
    walked = ROOT
    for element in elements_of(path):
        if isinstance(element, int):
            if not isinstance(value, list):
                raise PodSetPathError(f"{_cut(walked)} is {type_of(value)}, not an array")
            if element >= len(value):
                raise PodSetPathError(
                    f"{_cut(walked)} has {len(value)} elements, so there is no [{element}]"
                )
            value = value[element]
            walked += f"[{element}]"
        else:
            if not isinstance(value, dict):
                raise PodSetPathError(f"{_cut(walked)} is {type_of(value)}, not an object")
            if element not in value:
                raise PodSetPathError(f"{_cut(walked)} has no field {_cut(element)!r}")
            value = value[element]
            walked += f".{element}"
    return value


def elements_of(path: str) -> Iterable[str | int]:
    """The keys (str) and indices (int) of `path` after `template`. Raises PodSetPathError.

    Inferred paths are few and come again and again.
    """
    return _remembered(path) if len(path) <= _LONGEST_REMEMBERED else _parse(path)


@lru_cache(maxsize=1024)
def _remembered(path: str) -> tuple[str | int, ...]:
    return tuple(_parse(path))


def _parse(path: str) -> Iterator[str | int]:
    if not path.startswith(ROOT):
        raise PodSetPathError(f"the path must start with {ROOT!r}")
    position = len(ROOT)
    while position < len(path):
        match = _ELEMENT.match(path, position)
        if match is None:
            raise PodSetPathError(
                f"after {_cut(path[:position])!r}: "
                f"{_cut(path[position:])!r} is neither '.key' nor '[n]'"
            )
        position = match.end()
        if (key := match["key"]) is not None:
            yield key
        elif _INDEX.fullmatch(match["index"]):
            yield int(match["index"])
        else:
            raise PodSetPathError(
                f"after {_cut(path[: match.start()])!r}: "
                f"index {_cut(match['index'])!r} is not a number from 0"
            )


def _cut(text: str) -> str:
    """What a user wrote, as long as messages show it."""
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
