"""Resolve the keys of a configuration file: valid keys, other names, ignored keys.

pydantic would report "extra inputs are not permitted"; this module reports the nearest key and its
place.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, get_args

import yaml
from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from shared.api.findings import FieldError, FieldErrorKind
from shared.api.objects import JsonObject, JsonValue
from shared.config.configuration import Configuration
from shared.config.values import Section

# YAML with the line of every value; duplicate keys are errors.

KeyPath = tuple[str | int, ...]

_LARGEST_DOCUMENT: Final = 1 << 20  # the size limit of a ConfigMap


class YamlError(ValueError):
    """Raised if a text is no YAML document. The message begins with the line, from 1."""


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """The plain value of a document, and the line (from 1) of each key and element in it."""

    value: JsonValue
    lines: dict[KeyPath, int]

    def line_of(self, path: KeyPath) -> int | None:
        """Return the line of `path`, or of its nearest parent; None for an empty document."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path)


def parse_yaml(text: str) -> YamlDocument:
    """Parse one document; an empty text gives None. Raise YamlError."""
    if len(text) > _LARGEST_DOCUMENT:
        raise YamlError(f"line 1: the document is larger than {_LARGEST_DOCUMENT} characters")
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        lines: dict[KeyPath, int] = {}
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
    loader: yaml.SafeLoader, node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int]
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
            problem=f"the key {key!r} is given twice", problem_mark=node.start_mark
        )
    return key


# Keys of the Go operator (any of its versions) or of earlier versions: accepted with a warning.
_IGNORED: Final[dict[KeyPath, str]] = {
    ("webhooksEnabled",): "the webhook is a deployment of its own: remove that instead",
    ("controllerManager", "enableHTTP2"): "HTTP/2 is never offered",
    ("appwrapper", "enableKueueIntegrations"): "Kueue itself integrates AppWrappers",
    ("appwrapper", "kueueJobReconciller"): "Kueue's own configuration decides",
    ("appwrapper", "kueueJobReconciler"): "Kueue's own configuration decides",
    ("appwrapper", "manageJobsWithoutQueueName"): "Kueue's own configuration decides",
    ("appwrapper", "faultTolerance", "errorAggregation", "skewTolerance"): (
        "the times of failures are compared as the nodes' clocks report them"
    ),
}

# Short forms: a value in place of a section with one key.
_SHORT_FORMS: Final[dict[KeyPath, KeyPath]] = {
    ("appwrapper", "slackQueueName"): ("appwrapper", "slackQueue", "name"),
}


@dataclass(slots=True)
class ResolvedKeys:
    """A file's values under their canonical keys, with errors and warnings.

    `written` maps the path of a value in `values` to its path in the file. `errors` have the paths
    of the file.
    """

    values: JsonObject = field(default_factory=dict)
    written: dict[KeyPath, KeyPath] = field(default_factory=dict)
    errors: list[tuple[KeyPath, FieldError]] = field(default_factory=list)
    warnings: list[tuple[KeyPath, str]] = field(default_factory=list)


def resolve_keys(document: JsonObject) -> ResolvedKeys:
    """Return all values of `document` that have a meaning; omit null values, as Go does."""
    resolved = ResolvedKeys()
    _resolve(Configuration, document, (), (), resolved)
    return resolved


def dotted(path: KeyPath) -> str:
    """Format `appwrapper.autopilot.resourceTaints[nvidia.com/gpu][0].key`, as Kubernetes does."""
    text = ""
    for element in path:
        if isinstance(element, int) or "." in element or "/" in element:
            text += f"[{element}]"
        else:
            text += f".{element}" if text else element
    return text


def _resolve(
    section: type[Section], given: JsonObject, canonical: KeyPath, file: KeyPath, into: ResolvedKeys
) -> None:
    names = _names(section)
    for key, value in given.items():
        here = (*file, key)
        if here in _IGNORED:
            into.warnings.append((here, f"{dotted(here)}: ignored: {_IGNORED[here]}"))
        elif here in _SHORT_FORMS:
            _put(into, _SHORT_FORMS[here], here, value)
        elif key not in names:
            into.errors.append((here, _unknown(here, names)))
        else:
            name, info = names[key]
            target = (*canonical, name)
            inner = info.annotation
            if isinstance(inner, type) and issubclass(inner, Section) and isinstance(value, dict):
                _resolve(inner, value, target, here, into)
            else:
                _check_elements(info, value, here, into)
                _put(into, target, here, value)


def _put(into: ResolvedKeys, target: KeyPath, here: KeyPath, value: JsonValue) -> None:
    if value is None:
        return
    if target in into.written:
        other = dotted(into.written[target])
        error = FieldError(
            dotted(here), FieldErrorKind.DUPLICATE, f"{other} is another name of the same setting"
        )
        into.errors.append((here, error))
        return
    into.written[target] = here
    place = into.values
    for element in target[:-1]:
        place = place.setdefault(str(element), {})
    place[str(target[-1])] = value


def _check_elements(info: FieldInfo, value: JsonValue, here: KeyPath, into: ResolvedKeys) -> None:
    """Report unknown keys of objects inside lists and maps, such as a resource's taints."""
    section = next(_sections_in(info.annotation), None)
    if section is None:
        return
    names = _names(section)
    for path, element in _objects_in(value, here):
        for key in element:
            if key not in names:
                into.errors.append(((*path, key), _unknown((*path, key), names)))


def _sections_in(annotation: Any) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for argument in get_args(annotation):
        yield from _sections_in(argument)


def _objects_in(value: JsonValue, path: KeyPath) -> Iterator[tuple[KeyPath, JsonObject]]:
    """Yield the objects inside lists, and inside maps of lists."""
    if isinstance(value, list):
        for index, element in enumerate(value):
            if isinstance(element, dict):
                yield (*path, index), element
    elif isinstance(value, dict):
        for key, element in value.items():
            if isinstance(element, list):
                yield from _objects_in(element, (*path, key))


def _names(section: type[Section]) -> dict[str, tuple[str, FieldInfo]]:
    """Return every accepted key of a section -> its canonical key and its field."""
    names = {}
    for attribute, info in section.model_fields.items():
        canonical = info.serialization_alias or attribute
        names[canonical] = (canonical, info)
        if isinstance(info.validation_alias, AliasChoices):
            for alias in info.validation_alias.choices:
                names[str(alias)] = (canonical, info)
    return names


def _unknown(path: KeyPath, names: dict[str, tuple[str, FieldInfo]]) -> FieldError:
    key = str(path[-1])
    detail = "unknown key"
    if nearest := _nearest(key, path[:-1], names):
        detail += f"; the nearest valid one is {nearest}"
    return FieldError(dotted(path), FieldErrorKind.FORBIDDEN, detail)


def _nearest(key: str, parent: KeyPath, names: dict[str, tuple[str, FieldInfo]]) -> str | None:
    """Return the same key in other case, else the same key elsewhere, else a similar key."""
    here = {dotted((*parent, name)): name for name in names}
    elsewhere = {dotted(path): str(path[-1]) for path in _all_paths(Configuration, ())}
    folded = key.lower()
    for candidates in (here, elsewhere):
        for path, name in candidates.items():
            if name.lower() == folded:
                return path
    for candidates in (here, elsewhere):
        by_name = {name.lower(): path for path, name in reversed(candidates.items())}
        if matches := difflib.get_close_matches(folded, by_name, n=1, cutoff=0.7):
            return by_name[matches[0]]
    return None


def _all_paths(section: type[Section], prefix: KeyPath) -> Iterator[KeyPath]:
    for key, (_, info) in _names(section).items():
        yield (*prefix, key)
        if isinstance(info.annotation, type) and issubclass(info.annotation, Section):
            yield from _all_paths(info.annotation, (*prefix, key))
