"""Read values with their places in the text, and merge several files.

The YAML is version 1.2: only `true` and `false` are booleans, and `12:30` is a text.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from cli.manifests.places import ManifestError, Place, Way, place_of
from cli.manifests.yaml_text import YamlReader
from shared.api.objects import JsonValue

Path = Way

_PREFIX: Final = "tag:yaml.org,2002:"
_NUMBERS: Final = (f"{_PREFIX}int", f"{_PREFIX}float")


class UnreadableValues(ValueError):
    """A text without values. The message begins with the file and, if known, the line."""


class Number(str):
    """A number as text: `1.50` and `1e6` reach a container as they are written."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of a value: a file and its line (from 1), or an option of the command."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


Value: TypeAlias = "bool | Number | str | list[ValueNode] | dict[str, ValueNode] | None"


@dataclass(frozen=True, slots=True)
class ValueNode:
    """A value and its origin. An entry of a mapping has the line of its key as origin."""

    value: Value
    origin: Origin

    def plain(self) -> Any:
        """Return the value without origins."""
        match self.value:
            case dict() as mapping:
                return {name: each.plain() for name, each in mapping.items()}
            case list() as items:
                return [each.plain() for each in items]
        return self.value


class _ValuesReader(YamlReader):
    """Reads YAML 1.2. Scalars of other types (dates, binary data) are read as text."""

    version: ClassVar[tuple[int, int]] = (1, 2)
    own_keys_win: ClassVar[bool] = True

    def scalar(self, event: Any) -> JsonValue:
        tag = self.tag_of(event)
        if tag == f"{_PREFIX}null":
            return None
        if tag == f"{_PREFIX}bool":
            return bool(event.value.lower() == "true")
        # JSON writes some characters as two surrogates.
        text = event.value.encode("utf-16", "surrogatepass").decode("utf-16")
        return Number(text) if tag in _NUMBERS else text

    def key(self, event: Any) -> str:
        value = getattr(event, "value", None)
        if not isinstance(value, str) or self.tag_of(event) != f"{_PREFIX}str":
            shown = f"the key {value} is no text" if value else "a key must be text"
            place = Place(event.start_mark.line + 1, event.start_mark.column + 1)
            raise ManifestError(f"{shown}: put it in quotes", place)
        return str(self.located_scalar(event))


def read_values(text: str, source: str) -> ValueNode:
    """Read one YAML or JSON document, a mapping or empty. Raises UnreadableValues."""
    try:
        documents = _ValuesReader().documents(text)
    except ManifestError as error:
        line = f":{error.place.line}" if error.place else ""
        raise UnreadableValues(f"{source}{line}: {error}") from error
    if not documents or (len(documents) == 1 and documents[0].value is None):
        return ValueNode({}, Origin(source))

    def origin(way: Way, document: int = 0) -> Origin:
        place = place_of(documents[document].places, way)
        return Origin(source, place.line if place else None)

    if len(documents) > 1:
        raise UnreadableValues(f"{origin((), 1)}: a second document: write the values in one")
    root = _node(documents[0].value, (), origin)
    if not isinstance(root.value, dict):
        raise UnreadableValues(f"{root.origin}: must be a mapping, such as jobName: my-job")
    return root


def _node(value: JsonValue, way: Way, origin: Callable[[Way], Origin]) -> ValueNode:
    if isinstance(value, dict):
        entries = {name: _node(each, (*way, name), origin) for name, each in value.items()}
        return ValueNode(entries, origin(way))
    if isinstance(value, list):
        items = [_node(each, (*way, index), origin) for index, each in enumerate(value)]
        return ValueNode(items, origin(way))
    return ValueNode(value, origin(way))


def merge(base: ValueNode, over: ValueNode) -> ValueNode:
    """Merge `over` into `base` as Helm does: mappings by key; other values are replaced."""
    if not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    merged = dict(base.value)
    for key, node in over.value.items():
        merged[key] = merge(merged[key], node) if key in merged else node
    return ValueNode(merged, over.origin)


def origin_of(root: ValueNode, path: Path) -> Origin:
    """Return the origin of `path`, or of the nearest value around it."""
    found = root
    for element in path:
        match found.value:
            case dict() as mapping if element in mapping:
                found = mapping[str(element)]
            case list() as items if isinstance(element, int) and element < len(items):
                found = items[element]
            case _:
                break
    return found.origin


def dotted(path: Path) -> str:
    """Return the path as text: `volumes[0].claimName`."""
    parts = (f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
    return "".join(parts).removeprefix(".")
