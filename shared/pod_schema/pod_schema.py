"""Strict decoding of pod templates, as the API server does it with fieldValidation=Strict. Pure.

Unknown fields, wrong JSON types, fractions for integers, numbers out of range, malformed amounts
and times are mistakes. null anywhere, absent fields and any text where a few are allowed are none:
the API server judges those when it creates the pod. Duplicate keys are gone by the time that JSON
is decoded, so they are found elsewhere.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from shared.api.json import JsonObject, JsonValue
from shared.pod_schema import scalars
from shared.pod_schema.containers import Container, Elements, Fields, Type
from shared.pod_schema.definitions import (
    LIST_OF,
    MAP_OF,
    POD,
    POD_TEMPLATE,
    Definitions,
    PodSchemaError,
)
from shared.pod_schema.mistakes import Mistake, Place

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
