"""Pod sets as Kueue counts them: where templates are, and how many pods each stands for."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from shared.api.objects import JsonObject, JsonValue, type_of
from shared.kinds.kind import (
    MAXIMUM_REPLICAS,
    MOST_POD_SETS,
    PodSet,
    PodSetError,
    PodSetPathError,
)

# Paths of pod templates inside a component, such as `template.spec.template`.
#
# The grammar is the Go operator's, because Kueue follows the same paths: `template` first, then
# `.key` and `[n]`. Keys with dots or brackets in them cannot be named.

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


# Reading how many pods an object asks for, as Kueue reads it: some fields strictly, some not.


def count_at(template: JsonObject, path: str, *, default: int = 1) -> int:
    """The number at `path`; `default` when absent or null. Raises PodSetError for anything else."""
    value = value_or_none(template, path)
    if value is None:
        return default
    if type(value) is not int:  # bool is an int in Python, not in Kubernetes
        raise PodSetError(f"{path} must be an integer")
    return value


def lenient_count_at(template: JsonObject, path: str, *, default: int) -> int:
    """The number at `path`; `default` for anything that is no integer (Kueue does the same)."""
    value = value_or_none(template, path)
    return value if type(value) is int else default


def length_at(template: JsonObject, path: str) -> int:
    """The number of elements of the array at `path`; 0 for anything else.

    Raises PodSetError when they are more than can be pod sets.
    """
    value = value_or_none(template, path)
    length = len(value) if isinstance(value, list) else 0
    if length > MOST_POD_SETS:
        raise PodSetError(f"{path} has {length} elements, but at most {MOST_POD_SETS} are read")
    return length


def exists(template: JsonObject, path: str) -> bool:
    """Whether the path leads somewhere, be it to null."""
    try:
        value_at(template, path)
    except PodSetPathError:
        return False
    return True


def value_or_none(template: JsonObject, path: str) -> JsonValue:
    """What is at `path`; None where it leads nowhere, too."""
    try:
        return value_at(template, path)
    except PodSetPathError:
        return None


def asks_for_resources(resources: JsonValue) -> bool:
    """Whether the `resources` of a container or a pod request or limit anything."""
    if not isinstance(resources, dict):
        return False
    return bool(resources.get("requests") or resources.get("limits"))


def checked(template: JsonObject, pod_sets: tuple[PodSet, ...]) -> tuple[PodSet, ...]:
    """The same pod sets. Raises PodSetError for one without pod template or out of range."""
    for pod_set in pod_sets:
        template_at(template, pod_set.path)
        if not 0 <= pod_set.replicas <= MAXIMUM_REPLICAS:
            raise PodSetError(
                f"{pod_set.path} would have {pod_set.replicas} replicas: "
                f"the count must be from 0 to {MAXIMUM_REPLICAS}"
            )
    return pod_sets
