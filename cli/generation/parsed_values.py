"""Read values with their places in the text, and merge several files.

The YAML is version 1.2: only `true` and `false` are booleans, and `12:30` is a text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from ruamel.yaml.nodes import ScalarNode

from cli.manifests.places import ManifestError, Way
from cli.manifests.yaml_text import YamlReader, place_at
from shared.api.objects import JsonValue

Path = Way

_PREFIX: Final = "tag:yaml.org,2002:"
_NUMBERS: Final = (f"{_PREFIX}int", f"{_PREFIX}float")


class UnreadableValues(ValueError):
    """A text without values. The message begins with its file and line, or with its option."""


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


@dataclass(frozen=True, slots=True)
class ParsedValues:
    """A value and the origins of its parts. An entry of a mapping has the line of its key."""

    value: Any
    origins: Mapping[Path, Origin]

    def origin(self, path: Path) -> Origin:
        """Return the origin of `path`, or of the nearest value around it."""
        while path not in self.origins:
            path = path[:-1]
        return self.origins[path]


class _ValuesReader(YamlReader):
    """Reads YAML 1.2. Scalars of other types (dates, binary data) are read as text."""

    version: ClassVar[tuple[int, int]] = (1, 2)
    own_keys_win: ClassVar[bool] = True

    def scalar(self, event: Any) -> JsonValue:
        tag = self._tag(event)
        if tag == f"{_PREFIX}null":
            return None
        if tag == f"{_PREFIX}bool":
            return bool(event.value.lower() == "true")
        # JSON writes some characters as two surrogates.
        text = event.value.encode("utf-16", "surrogatepass").decode("utf-16")
        return Number(text) if tag in _NUMBERS else text

    def key(self, event: Any) -> str:
        value = getattr(event, "value", None)
        if not isinstance(value, str) or self._tag(event) != f"{_PREFIX}str":
            shown = f"the key {value} is no text" if value else "a key must be text"
            raise ManifestError(f"{shown}: put it in quotes", place_at(event.start_mark))
        return str(self.located_scalar(event))

    def _tag(self, event: Any) -> str:
        """Return the tag of a scalar: its own, else by the rules of YAML 1.2."""
        if event.tag is not None and event.tag != "!":
            return str(event.tag)
        return str(self.resolver.resolve(ScalarNode, event.value, event.implicit))


def read_values(text: str, source: str) -> ParsedValues:
    """Read one YAML or JSON document, a mapping or empty. Raises UnreadableValues."""
    try:
        documents = _ValuesReader().documents(text)
    except ManifestError as error:
        raise UnreadableValues(error.located(source)) from error
    if len(documents) > 1:
        line = f":{documents[1].places[()].line}"
        raise UnreadableValues(f"{source}{line}: a second document: write the values in one")
    if not documents or documents[0].value is None:
        return ParsedValues({}, {(): Origin(source)})
    document = documents[0]
    origins = {way: Origin(source, place.line) for way, place in document.places.items()}
    if not isinstance(document.value, dict):
        raise UnreadableValues(f"{origins[()]}: must be a mapping, such as jobName: my-job")
    return ParsedValues(document.value, origins)


def merge(base: ParsedValues, over: ParsedValues) -> ParsedValues:
    """Merge `over` into `base` as Helm does: mappings by key; other values are replaced."""
    kept = {way: each for way, each in base.origins.items() if not _replaces(over.value, way)}
    return ParsedValues(_merged(base.value, over.value), {**kept, **over.origins})


def _merged(base: JsonValue, over: JsonValue) -> JsonValue:
    if not isinstance(base, dict) or not isinstance(over, dict):
        return over
    return base | {key: _merged(base[key], v) if key in base else v for key, v in over.items()}


def _replaces(over: Any, path: Path) -> bool:
    """True if `over` has a value at `path`, or another value than a mapping above it."""
    for step in path:
        if not isinstance(over, dict) or step not in over:
            return not isinstance(over, dict)
        over = over[step]
    return True


def dotted(path: Path) -> str:
    """Return the path as text: `volumes[0].claimName`."""
    parts = (f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
    return "".join(parts).removeprefix(".")
