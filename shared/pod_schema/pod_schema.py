"""Strict decoding of pod templates, as the API server does it with fieldValidation=Strict. Pure.

Unknown fields, wrong JSON types, fractions for integers, numbers out of range, malformed amounts
and times are mistakes. null anywhere, absent fields and any text where a few are allowed are none:
the API server judges those when it creates the pod. Duplicate keys are gone by the time that JSON
is decoded, so they are found elsewhere.
"""

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from shared.api.findings import FieldError, FieldErrorKind, quoted
from shared.api.objects import JsonObject, JsonValue
from shared.pod_schema import scalars
from shared.pod_schema.definitions import (
    LIST_OF,
    MAP_OF,
    POD,
    POD_TEMPLATE,
    Definitions,
    PodSchemaError,
)
from shared.pod_schema.scalars import Container, Elements, Fault, Fields, Type

# A mistake in a pod template, cheap to find by the thousand and told in full only on request.

# Keys are the user's: they may be of any length and hold anything. No real one is longer than this
# (a label's prefix is at most 253 characters, its name 63).
_PLAIN_KEY: Final = re.compile(r"[-_./A-Za-z0-9]{1,317}")
_LONGEST_LIKE_A_FIELD: Final = 100

# Where a value stands: (the place of its container, that container, its key); () is the outermost.
# A plain tuple, because one is made for each object and list of a template that has no mistake.
Place = tuple[()] | tuple[Any, Container, str | int]


@dataclass(frozen=True, slots=True)
class Mistake:
    """What is wrong at a place; without a `fault` it is that its container has no such field."""

    place: Place
    fault: Fault | None

    def error(self, path: str) -> FieldError:
        """The whole message; `path` is that of the pod template."""
        detail, value = self.fault or (_unknown_field(self.place), None)
        return FieldError(f"{path}{_path(self.place)}", FieldErrorKind.INVALID, detail, value)


def _path(place: Place) -> str:
    """To be put behind the path of the pod template: `.spec.containers[0].image`."""
    keys: list[str] = []
    while place:
        place, container, key = place
        shown = _shown(key)
        keys.append(f".{shown}" if isinstance(container, Fields) else f"[{shown}]")
    return "".join(reversed(keys))


def _unknown_field(place: Place) -> str:
    assert place, "the outermost object is in no field"
    _, container, key = place
    assert isinstance(container, Fields), "only fields can be unknown"
    assert isinstance(key, str), "fields have names"
    if len(key) <= _LONGEST_LIKE_A_FIELD:
        # Case is the commonest slip, and for difflib a capital is just another letter.
        alike = [name for name in container.by_name if name.lower() == key.lower()]
        if nearest := alike or difflib.get_close_matches(key, container.by_name, n=1):
            return f'unknown field; did you mean "{nearest[0]}"?'
    return f"unknown field: {container.name} has none of that name"


def _shown(key: str | int) -> str:
    if isinstance(key, str) and not _PLAIN_KEY.fullmatch(key):
        return quoted(key)
    return str(key)


_NONE: Final = type(None)


class PodSchema:
    """What one API server's pods may hold, ready to decode by."""

    def __init__(self, definitions: Definitions) -> None:
        """Raises PodSchemaError when `definitions` lack a type that they refer to."""
        fields = {name: Fields(name.rpartition(".")[2]) for name in definitions}
        for name, notations in definitions.items():
            fields[name].by_name.update(
                (field, _type(notation, fields)) for field, notation in notations.items()
            )
        self._pod = _defined(POD, fields)
        self._template = _defined(POD_TEMPLATE, fields)

    def template_mistakes(self, pod_template: JsonObject) -> Iterator[Mistake]:
        """What is wrong with a PodTemplateSpec, outermost first."""
        return _mistakes(self._template, pod_template)

    def pod_mistakes(self, pod: JsonObject) -> Iterator[Mistake]:
        """What is wrong with a Pod, outermost first."""
        return _mistakes(self._pod, pod)


def _type(notation: str, fields: dict[str, Fields]) -> Type:
    if notation.startswith(LIST_OF):
        return Elements(_type(notation.removeprefix(LIST_OF), fields), list)
    if notation.startswith(MAP_OF):
        return Elements(_type(notation.removeprefix(MAP_OF), fields), dict)
    return scalars.BY_NOTATION.get(notation) or _defined(notation, fields)


def _defined(name: str, fields: dict[str, Fields]) -> Fields:
    found = fields.get(name)
    if found is None:
        raise PodSchemaError(f"{name} is not defined")
    return found


def _mistakes(root: Fields, decoded: JsonObject) -> Iterator[Mistake]:
    """Level by level, without recursion: however deep an object is nested, no stack grows."""
    waiting: list[tuple[Container, JsonValue, Place]] = [(root, decoded, ())]
    for container, content, place in waiting:
        every = container.every
        if every is not None and every.plain is not None and _all_plain(every.plain, content):
            continue
        for key, value in _entries(content):
            expected = every or container.by_name.get(key)
            if expected is None:
                yield Mistake((place, container, key), None)
            elif value is None or type(value) is expected.plain:
                continue
            elif expected.container is type(value):
                if value:
                    waiting.append((expected, value, (place, container, key)))
            elif (fault := expected.fault(value)) is not None:
                yield Mistake((place, container, key), fault)


def _entries(content: JsonValue) -> Iterable[tuple[Any, JsonValue]]:
    return enumerate(content) if type(content) is list else content.items()


def _all_plain(plain: type, content: JsonValue) -> bool:
    """Whether no element needs a further look: the quick way through labels and arguments."""
    values = content if type(content) is list else content.values()
    return {plain, _NONE}.issuperset(map(type, values))
