"""Load a file into a usable configuration, or report its errors.

Errors of single values come first; limits of two values, and error stores, once those are right.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Final

from pydantic import ValidationError

from shared.api.findings import FieldError, FieldErrorKind
from shared.api.objects import JsonObject, JsonValue
from shared.config.configuration import Configuration
from shared.config.keys import (
    KeyPath,
    ResolvedKeys,
    YamlDocument,
    YamlError,
    dotted,
    parse_yaml,
    resolve_keys,
)
from shared.config.validation import validate
from shared.config.without_effect import without_effect

DEFAULT_ORIGIN: Final = "default"


class ConfigError(Exception):
    """Raised for an unusable configuration. One line per error: place, error, remedy."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """The effective configuration.

    `warnings` are whole sentences with file and line. `origins` maps the canonical path of each
    value that is not a default to its origin (`FILE:LINE`, or the name of a flag).
    """

    config: Configuration
    warnings: tuple[str, ...] = ()
    origins: Mapping[KeyPath, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Override:
    """A value set by a flag of the command line, which takes precedence over the file."""

    path: KeyPath
    value: JsonValue
    flag: str


def load_config(path: str | FilePath, overrides: tuple[Override, ...] = ()) -> LoadedConfig:
    """Read and validate a file. Raise ConfigError with the problems found."""
    try:
        text = FilePath(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConfigError([f"{path}: no such file; --config names the configuration"]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([f"{path}: not UTF-8 text: {error}"]) from error
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}"]) from error
    return parse_config(text, str(path), overrides)


def parse_config(
    text: str, source: str = "config.yaml", overrides: tuple[Override, ...] = ()
) -> LoadedConfig:
    """Do the same for a text; `source` is its name in messages."""
    try:
        document = parse_yaml(text)
    except YamlError as error:
        line, _, problem = str(error).removeprefix("line ").partition(": ")
        raise ConfigError([f"{source}:{line}: {problem}"]) from error
    resolved = resolve_keys(_mapping(document, source))
    for override in overrides:
        _apply(override, resolved)
    config, errors = _build(resolved)
    if config is not None:
        errors += [_as_written(error, resolved) for error in validate(config)]
    errors.sort(key=lambda found: document.line_of(found[0]) or 0)
    problems = [_located(source, document, path, str(error)) for path, error in errors]
    if problems or config is None:
        raise ConfigError(problems)
    flags = {override.path: override.flag for override in overrides}
    origins = {
        path: flags.get(path) or f"{source}:{document.line_of(written)}"
        for path, written in resolved.written.items()
    }
    idle = [
        (resolved.written[path], f"{dotted(resolved.written[path])}: {why}")
        for path, why in without_effect(config, resolved.written)
        if path not in flags
    ]
    found = [*resolved.warnings, *idle]
    warnings = [_located(source, document, path, text) for path, text in found]
    return LoadedConfig(config, tuple(warnings), origins)


def _mapping(document: YamlDocument, source: str) -> JsonObject:
    if document.value is None:
        return {}
    if not isinstance(document.value, dict):
        raise ConfigError([f"{source}:1: the configuration must be a mapping of keys to values"])
    if document.value.get("kind") == "ConfigMap":
        raise ConfigError(
            [f"{source}:1: this is a ConfigMap; pass the text of its key config.yaml"]
        )
    return document.value


def _apply(override: Override, resolved: ResolvedKeys) -> None:
    place = resolved.values
    for element in override.path[:-1]:
        place = place.setdefault(str(element), {})
    place[str(override.path[-1])] = override.value
    resolved.written[override.path] = override.path


def _build(resolved: ResolvedKeys) -> tuple[Configuration | None, list[tuple[KeyPath, FieldError]]]:
    errors = list(resolved.errors)
    try:
        # From JSON, not from objects: only then strict mode accepts arrays as tuples.
        return Configuration.model_validate_json(_as_json(resolved.values)), errors
    except ValidationError as invalid:
        for found in invalid.errors(include_url=False):
            if found["type"] == "extra_forbidden":
                continue  # reported before, with the nearest key
            # pydantic marks a wrong key of a map by an element of its own.
            place = found["loc"][:-1] if found["loc"][-1:] == ("[key]",) else found["loc"]
            path = _written_path(place, resolved)
            errors.append(
                (path, _as_field_error(path, found["type"], found["msg"], found["input"]))
            )
    return None, errors


def _as_json(values: JsonObject) -> bytes:
    # YAML has dates and integers of any size. Dates become texts, integers stay: the models refuse
    # them like other wrong values.
    return json.dumps(values, default=str).encode()


def _as_field_error(path: KeyPath, kind: str, message: str, value: JsonValue) -> FieldError:
    if kind == "missing":
        return FieldError(dotted(path), FieldErrorKind.REQUIRED, "must be set")
    detail = message.removeprefix("Value error, ").replace("Input should be", "must be")
    shown = json.dumps(value, default=str, ensure_ascii=False)
    return FieldError(
        dotted(path),
        FieldErrorKind.INVALID,
        detail,
        shown if len(shown) <= 80 else shown[:79] + "…",
    )


def _written_path(canonical: KeyPath, resolved: ResolvedKeys) -> KeyPath:
    """Return the file's path of the value at `canonical`: it may use another name of a key."""
    for length in range(len(canonical), 0, -1):
        if (written := resolved.written.get(canonical[:length])) is not None:
            return written + canonical[length:]
    return canonical


def _as_written(error: FieldError, resolved: ResolvedKeys) -> tuple[KeyPath, FieldError]:
    """Return the error under the key that the file uses, with that key's path."""
    for canonical, written in resolved.written.items():
        prefix = dotted(canonical)
        rest = error.path.removeprefix(prefix)
        if error.path.startswith(prefix) and rest[:1] in ("", ".", "["):
            return written, replace(error, path=dotted(written) + rest)
    return (), error


def _located(source: str, document: YamlDocument, path: KeyPath, text: str) -> str:
    line = document.line_of(path)
    return f"{source}: {text}" if line is None else f"{source}:{line}: {text}"
