"""YAML with the line of every value, duplicate keys refused."""

from dataclasses import dataclass
from typing import Final

import yaml

from shared.api.json import JsonValue

Path = tuple[str | int, ...]

_LARGEST_DOCUMENT: Final = 1 << 20  # what fits into a ConfigMap


class YamlError(ValueError):
    """A text that is no YAML document. The message starts with the line, from 1."""


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """The plain value of a document, and the line (from 1) of each key and element in it."""

    value: JsonValue
    lines: dict[Path, int]

    def line_of(self, path: Path) -> int | None:
        """The line of `path`, or of the nearest place around it; None for an empty document."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path)


def parse_yaml(text: str) -> YamlDocument:
    """One document; an empty text gives None. Raises YamlError."""
    if len(text) > _LARGEST_DOCUMENT:
        raise YamlError(f"line 1: the document is larger than {_LARGEST_DOCUMENT} characters")
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        lines: dict[Path, int] = {}
        value = None if node is None else _construct(loader, node, (), lines)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise YamlError(f"line {line}: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise YamlError(f"line 1: not YAML: {error}") from error
    finally:
        loader.dispose()
    return YamlDocument(value, lines)


def _construct(
    loader: yaml.SafeLoader, node: yaml.Node, path: Path, lines: dict[Path, int]
) -> JsonValue:
    lines.setdefault(path, node.start_mark.line + 1)
    match node:
        case yaml.MappingNode():
            result: dict[str, JsonValue] = {}
            for key_node, value_node in node.value:
                key = _key(loader, key_node, result)
                lines[(*path, key)] = key_node.start_mark.line + 1
                result[key] = _construct(loader, value_node, (*path, key), lines)
            return result
        case yaml.SequenceNode():
            return [
                _construct(loader, element, (*path, index), lines)
                for index, element in enumerate(node.value)
            ]
        case _:
            return loader.construct_object(node)


def _key(loader: yaml.SafeLoader, node: yaml.Node, present: dict[str, JsonValue]) -> str:
    key = loader.construct_object(node) if isinstance(node, yaml.ScalarNode) else None
    if not isinstance(key, str):
        raise yaml.MarkedYAMLError(problem="a key must be text", problem_mark=node.start_mark)
    if key in present:
        raise yaml.MarkedYAMLError(
            problem=f"the key {key!r} stands twice", problem_mark=node.start_mark
        )
    return key
