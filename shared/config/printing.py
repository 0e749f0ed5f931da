"""The effective configuration as YAML, each value with where it comes from."""

import json
from collections.abc import Iterator

from shared.api.json import JsonValue
from shared.config.configuration import Configuration
from shared.config.loading import DEFAULT_ORIGIN, LoadedConfig
from shared.config.values import Section
from shared.config.yaml_document import Path


def print_config(loaded: LoadedConfig) -> str:
    """YAML that loads to the same configuration; the comments give each value's origin."""
    return "\n".join(_lines(loaded.config, (), loaded)) + "\n"


def changed_values(loaded: LoadedConfig) -> dict[str, JsonValue]:
    """Dotted path -> value of everything that differs from the default, for the start-up log."""
    values = dict(_leaves(loaded.config, ()))
    defaults = dict(_leaves(Configuration(), ()))
    return {
        ".".join(str(part) for part in path): value
        for path, value in values.items()
        if value != defaults[path]
    }


def _lines(section: Section, path: Path, loaded: LoadedConfig) -> Iterator[str]:
    indent = "  " * len(path)
    for key, value in _entries(section):
        if isinstance(value, Section):
            yield f"{indent}{key}:"
            yield from _lines(value, (*path, key), loaded)
        else:
            origin = loaded.origins.get((*path, key), DEFAULT_ORIGIN)
            yield f"{indent}{key}: {json.dumps(value, ensure_ascii=False)}  # {origin}"


def _leaves(section: Section, path: Path) -> Iterator[tuple[Path, JsonValue]]:
    for key, value in _entries(section):
        if isinstance(value, Section):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _entries(section: Section) -> Iterator[tuple[str, Section | JsonValue]]:
    """Each key with its section, or with its value as the file would have it."""
    dumped = section.model_dump(mode="json", by_alias=True)
    for attribute, info in type(section).model_fields.items():
        key = info.serialization_alias or attribute
        value = getattr(section, attribute)
        yield key, value if isinstance(value, Section) else dumped[key]
