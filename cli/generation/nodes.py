"""Read values with their places in the text, and merge several files.

The YAML is version 1.2: only `true` and `false` are booleans, and `12:30` is a text.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Path = tuple[str | int, ...]

_NULL: Final = "tag:yaml.org,2002:null"
_BOOL: Final = "tag:yaml.org,2002:bool"
_NUMBERS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_MERGE: Final = "tag:yaml.org,2002:merge"
# Scalars of other types (dates, binary data) are read as text.
_TEXT: Final = "tag:yaml.org,2002:str"
# With all aliases expanded: a few lines of YAML can expand to billions of values.
_MOST_VALUES: Final = 100_000


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


Value: TypeAlias = "bool | Number | str | list[Node] | dict[str, Node] | None"


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its origin. An entry of a mapping has the line of its key as origin."""

    value: Value
    origin: Origin


def read_values(text: str, source: str) -> Node:
    """Read one YAML or JSON document, a mapping or empty. Raises UnreadableValues."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        document = YAML(typ="safe", pure=True).compose(text)
        if document is None:
            return Node({}, Origin(source))
        if _count(document, {}) > _MOST_VALUES:
            raise UnreadableValues(
                f"{source}: its aliases expand to more than {_MOST_VALUES} values"
            )
        root = _node(document, Origin(source, document.start_mark.line + 1))
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = error.problem or error.context
        raise UnreadableValues(f"{source}:{line}: not YAML: {problem}") from error
    except YAMLError as error:
        raise UnreadableValues(f"{source}: not YAML: {str(error).splitlines()[0]}") from error
    except RecursionError as error:
        raise UnreadableValues(
            f"{source}: an alias (*name) contains itself, or it is nested too deep"
        ) from error
    if root.value is None:
        return Node({}, Origin(source))
    if not isinstance(root.value, dict):
        raise UnreadableValues(f"{root.origin}: must be a mapping, such as jobName: my-job")
    return root


def merge(base: Node, over: Node) -> Node:
    """Merge `over` into `base` as Helm does: mappings by key; other values are replaced."""
    if not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    merged = dict(base.value)
    for key, node in over.value.items():
        merged[key] = merge(merged[key], node) if key in merged else node
    return Node(merged, over.origin)


def origin_of(root: Node, path: Path) -> Origin:
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


def _count(node: Any, known: dict[int, int]) -> int:
    """Count the values in a node of ruamel.yaml, with aliases expanded."""
    if not isinstance(node.value, list):
        return 1
    if id(node) not in known:
        parts = (part for each in node.value for part in (each if type(each) is tuple else (each,)))
        known[id(node)] = 1 + sum(_count(part, known) for part in parts)
    return known[id(node)]


def _node(node: Any, origin: Origin) -> Node:
    """Convert a node of ruamel.yaml."""
    if isinstance(node.value, list):
        if node.tag.endswith(":seq"):
            return Node([_node(each, _start(each, origin)) for each in node.value], origin)
        return Node(dict(_entries(node, origin)), origin)
    return Node(_scalar(node), origin)


def _entries(node: Any, origin: Origin) -> Iterator[tuple[str, Node]]:
    """Yield the entries of a mapping, merged ones (`<<`) first, so that own entries win."""
    own: dict[str, Node] = {}
    for key, value in node.value:
        here = _start(key, origin)
        if key.tag == _MERGE:
            merged = value.value if value.tag.endswith(":seq") else [value]
            for each in merged:
                yield from _entries(each, here)
            continue
        if key.tag != _TEXT:
            raise UnreadableValues(f"{here}: the key {key.value} is no text: put it in quotes")
        if key.value in own:
            first = own[key.value].origin.line
            raise UnreadableValues(f"{here}: the key {key.value} is already on line {first}")
        own[key.value] = _node(value, here)
    yield from own.items()


def _start(node: Any, around: Origin) -> Origin:
    return Origin(around.source, node.start_mark.line + 1)


def _scalar(node: Any) -> Value:
    if node.tag == _NULL:
        return None
    if node.tag == _BOOL:
        return bool(node.value.lower() == "true")
    return Number(node.value) if node.tag in _NUMBERS else str(node.value)
