"""Shapes of values. Each shape reads a node, reports its errors and returns a JSON schema."""

import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field
from decimal import Decimal
from typing import Any, Final, Protocol

from cli.generation.nodes import Node, Number, Origin, Path
from shared.api.findings import FieldError, FieldErrorKind, quoted
from shared.api.objects import JsonObject
from shared.api.quantities import QuantityError, parse_quantity

_ALIKE: Final = 0.6  # of 1
_METADATA: Final = "key"
# Not negative. Kubernetes also reads quantities without digits, but no user means them.
_QUANTITY: Final = r"\+?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?"


@dataclass(slots=True)
class Findings:
    """Errors and warnings about values, each with its origin."""

    errors: list[tuple[Origin, FieldError]] = field(default_factory=list)
    warnings: list[tuple[Origin, str]] = field(default_factory=list)

    def error(self, at: Origin, path: Path, kind: FieldErrorKind, detail: str) -> None:
        """Add an error without the value."""
        self.errors.append((at, FieldError(dotted(path), kind, detail)))

    def invalid(self, node: Node, path: Path, detail: str) -> None:
        """Add an error that shows the value."""
        error = FieldError(dotted(path), FieldErrorKind.INVALID, detail, _shown(node))
        self.errors.append((node.origin, error))


class Shape(Protocol):
    """`read` returns a value of the shape, or reports an error and returns None."""

    def read(self, node: Node, path: Path, found: Findings) -> Any: ...

    def schema(self) -> JsonObject: ...


@dataclass(frozen=True, slots=True)
class Text:
    """A text. `written`: numbers and booleans are accepted too, as the text that was written."""

    expected: str
    pattern: str = r"[\s\S]+"
    longest: int | None = None
    written: bool = False

    def read(self, node: Node, path: Path, found: Findings) -> str | None:
        value = node.value
        if isinstance(value, bool) and self.written:
            value = "true" if value else "false"
        if isinstance(value, str) and (self.written or not isinstance(value, Number)):
            if re.fullmatch(self.pattern, value) and len(value) <= (self.longest or len(value)):
                return str(value)
            found.invalid(node, path, f"must be {self.expected}")
        elif isinstance(value, Number | bool):
            key = "-" if isinstance(path[-1], int) else f"{path[-1]}:"
            found.invalid(node, path, f"must be a text: write {key} {quoted(_shown(node))}")
        else:
            found.invalid(node, path, f"must be {self.expected}")
        return None

    def schema(self) -> JsonObject:
        text: JsonObject = {"type": "string", "pattern": f"^(?:{self.pattern})$"}
        if self.longest:
            text["maxLength"] = self.longest
        return {"anyOf": [text, {"type": ["number", "boolean"]}]} if self.written else text


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few texts."""

    options: tuple[str, ...]

    def read(self, node: Node, path: Path, found: Findings) -> str | None:
        if isinstance(node.value, str) and node.value in self.options:
            return node.value
        found.invalid(node, path, f"must be {_either(self.options)}")
        return None

    def schema(self) -> JsonObject:
        return {"enum": list(self.options)}


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number of at least `least`."""

    least: int

    def read(self, node: Node, path: Path, found: Findings) -> int | None:
        text = node.value if isinstance(node.value, Number) else ""
        if re.fullmatch("0|[1-9][0-9]{0,9}", text) and self.least <= int(text) < 2**31:
            return int(text)
        found.invalid(node, path, f"must be a whole number from {self.least} on, such as 4")
        return None

    def schema(self) -> JsonObject:
        return {"type": "integer", "minimum": self.least, "maximum": 2**31 - 1}


@dataclass(frozen=True, slots=True)
class Flag:
    """true or false."""

    def read(self, node: Node, path: Path, found: Findings) -> bool | None:
        if isinstance(node.value, bool):
            return node.value
        found.invalid(node, path, "must be true or false")
        return None

    def schema(self) -> JsonObject:
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class Amount:
    """A Kubernetes quantity, at least `least`, as the text that was written."""

    expected: str
    least: Decimal = Decimal(0)

    def read(self, node: Node, path: Path, found: Findings) -> str | None:
        if isinstance(node.value, str) and re.fullmatch(_QUANTITY, node.value):
            try:
                if parse_quantity(node.value) >= self.least:
                    return str(node.value)
            except QuantityError:
                pass  # out of range: the same message applies
        found.invalid(node, path, f"must be {self.expected}")
        return None

    def schema(self) -> JsonObject:
        text = {"type": "string", "pattern": f"^{_QUANTITY}$"}
        return {"anyOf": [text, {"type": "number", "minimum": 0}]}


@dataclass(frozen=True, slots=True)
class FaultToleranceShape:
    """The value of an annotation of `shared.annotations`, read as the webhook reads it."""

    annotation: str
    described: Mapping[str, Any]

    def read(self, node: Node, path: Path, found: Findings) -> str | None:
        # Imported here: the import takes longer than all the rest, and few values files need it.
        from cli.generation.periods import annotation_text
        from shared.annotations import AnnotationError

        try:
            return annotation_text(self.annotation, node)
        except AnnotationError as error:
            found.invalid(node, path, str(error))
            return None

    def schema(self) -> JsonObject:
        return dict(self.described)


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of one shape."""

    shape: Shape

    def read(self, node: Node, path: Path, found: Findings) -> tuple[Any, ...] | None:
        if isinstance(node.value, list):
            items = enumerate(node.value)
            return tuple(self.shape.read(each, (*path, index), found) for index, each in items)
        found.invalid(node, path, "must be a list: write each item on a line that begins with -")
        return None

    def schema(self) -> JsonObject:
        return {"type": "array", "items": self.shape.schema()}


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping with the keys of a dataclass. `entry` creates the fields of that dataclass."""

    of: type[Any]

    def read(self, node: Node, path: Path, found: Findings) -> Any:
        keys = keys_of(self.of)
        if not isinstance(node.value, dict):
            found.invalid(node, path, f"must be a mapping with {_listed(keys)}")
            return None
        for name, each in node.value.items():
            if name not in keys:
                report_unknown(each.origin, (*path, name), keys, found)
        return self.of(**self._fields(node, path, found))

    def _fields(self, node: Node, path: Path, found: Findings) -> dict[str, Any]:
        assert isinstance(node.value, dict)
        read = {}
        for name, each in keys_of(self.of).items():
            given = node.value.get(name)
            if given is not None and (given.value is not None or each.nullable):
                here = (*path, name)
                value = None if given.value is None else each.shape.read(given, here, found)
                read[each.attribute] = value
            elif each.required:
                at = node.origin if given is None else given.origin
                detail = f"must be set: write {name}: {each.example}"
                found.error(at, (*path, name), FieldErrorKind.REQUIRED, detail)
                read[each.attribute] = None
        return read

    def schema(self) -> JsonObject:
        return record_schema(self.of)


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a values file, or of an item in it. `example` is YAML in one line."""

    name: str
    shape: Shape
    about: str
    example: str
    default: Any
    nullable: bool  # null has another meaning than the default
    attribute: str = ""

    @property
    def required(self) -> bool:
        return self.default is MISSING


def entry(
    name: str,
    shape: Shape,
    about: str,
    *,
    example: str,
    default: Any = MISSING,
    nullable: bool = False,
) -> Any:
    """Return a dataclass field for a key. A key without a default is required."""
    made = Key(name, shape, about, example, default, nullable)
    return field(default=default, metadata={_METADATA: made})


def keys_of(record: type[Any]) -> dict[str, Key]:
    """Return the keys of a dataclass by name, in their order."""
    found = {}
    for each in dataclasses.fields(record):
        made: Key = each.metadata[_METADATA]
        found[made.name] = dataclasses.replace(made, attribute=each.name)
    return found


def record_schema(record: type[Any]) -> JsonObject:
    """Return the JSON schema of a dataclass."""
    keys = keys_of(record)
    properties = {name: _key_schema(each) for name, each in keys.items()}
    required = [name for name, each in keys.items() if each.required]
    more: JsonObject = {"required": required} if required else {}
    return {
        "type": "object",
        "properties": properties,
        **more,
        "additionalProperties": False,
    }


def _key_schema(made: Key) -> JsonObject:
    schema = made.shape.schema()
    described: JsonObject = {"description": made.about}
    if made.required:
        return described | schema
    if made.default not in (None, ()):
        described["default"] = made.default
    return described | {"anyOf": [schema, {"type": "null"}]}


def report_unknown(at: Origin, path: Path, known: Iterable[str], found: Findings) -> None:
    """Report an unknown key, with the nearest known one if there is one."""
    by_folded = {name.lower(): name for name in known}
    near = difflib.get_close_matches(str(path[-1]).lower(), by_folded, n=1, cutoff=_ALIKE)
    if near:
        detail = f"unknown key; the nearest one is {by_folded[near[0]]}"
    elif len(path) > 1:
        detail = f"unknown key; write {_listed(by_folded.values())}"
    else:
        detail = "unknown key; `appwrapper generate --example` shows all keys"
    found.error(at, path, FieldErrorKind.FORBIDDEN, detail)


def dotted(path: Path) -> str:
    """Return the path as text: `volumes[0].claimName`."""
    parts = (f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
    return "".join(parts).removeprefix(".")


def _shown(node: Node) -> str:
    match node.value:
        case None:
            return "null"
        case bool() as value:
            return "true" if value else "false"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case Number() as number:
            return str(number)
        case text:
            return quoted(text)


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _either(options: tuple[str, ...]) -> str:
    *first, last = options
    return f"{', '.join(first)} or {last}"
