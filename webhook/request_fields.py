"""Fields of an AdmissionReview's request, read strictly. Pure.

What has the wrong type is never taken for absent: a request that cannot be read must not be judged
as something that it may not be.
"""

from collections.abc import Sequence
from typing import Final

from shared.api.objects import JsonObject, JsonValue, type_of

_LONGEST_KEY_SHOWN: Final = 63


class MalformedRequest(ValueError):
    """A request that says something impossible. The message names the field, from the root."""


def text_at(parent: JsonObject, key: str, path: str) -> str:
    """The text `parent[key]`; "" where it is absent or null. Raises MalformedRequest."""
    value = parent.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MalformedRequest(f"{path}.{key} is {type_of(value)}, not a string")
    return value


def texts_at(parent: JsonObject, key: str, path: str) -> tuple[str, ...]:
    """The texts of the array `parent[key]`; () where it is absent or null.

    Raises MalformedRequest.
    """
    values = parent.get(key)
    if values is None:
        return ()
    if not isinstance(values, list):
        raise MalformedRequest(f"{path}.{key} is {type_of(values)}, not an array")
    for index, value in enumerate(values):
        if not isinstance(value, str):
            raise MalformedRequest(f"{path}.{key}[{index}] is {type_of(value)}, not a string")
    return tuple(values)


def object_at(parent: JsonObject, key: str, path: str) -> JsonObject | None:
    """The object `parent[key]`; None where it is absent or null. Raises MalformedRequest."""
    value: JsonValue = parent.get(key)
    if value is not None and not isinstance(value, dict):
        raise MalformedRequest(f"{path}.{key} is {type_of(value)}, not an object")
    return value


def flag_at(parent: JsonObject, key: str, path: str) -> bool:
    """The boolean `parent[key]`; False where it is absent or null. Raises MalformedRequest."""
    value = parent.get(key)
    if value is not None and not isinstance(value, bool):
        raise MalformedRequest(f"{path}.{key} is {type_of(value)}, not a boolean")
    return bool(value)


def as_field_path(way: Sequence[str | int]) -> str:
    """Keys and indices as Kubernetes writes them: `request.object.spec.components[0]`.

    Long keys are cut: whoever sends them chooses how long they are.
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{_shown(step)}" for step in way)
    return "".join(steps).removeprefix(".")


def _shown(key: str) -> str:
    return key if len(key) <= _LONGEST_KEY_SHOWN else f"{key[:_LONGEST_KEY_SHOWN]}..."
