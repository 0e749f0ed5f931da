"""Writes the tables of docs/admins/configuration.md: every key of the operator's configuration."""

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar, get_args

from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from shared.api.times import format_duration
from shared.config.configuration import Configuration, LabelSelectorRequirement
from shared.config.loading import load_config
from shared.config.values import Section, format_size
from webhook.policies import policies_yaml
from webhook.registration import registration_yaml

_TABLES: Final = re.compile(r"(?<=<!-- keys -->\n).*(?=<!-- end -->)", re.DOTALL)
_S = TypeVar("_S", bound=Section)
_READ_AGAIN: Final = {"appwrapper.pauseResets"}
_SHOWN: Final = 60  # characters of a default in its row; a longer one is printed below the table


@dataclass(frozen=True)
class KeyRow:
    """One key. `attributes` leads to its value from a Configuration; () inside lists and maps."""

    path: str
    attributes: tuple[str, ...]
    field: FieldInfo
    aliases: tuple[str, ...]
    description: str

    @property
    def name(self) -> str:
        """Return the key without its section."""
        return self.path.rpartition(".")[2]


def configuration_page(text: str) -> str:
    """Return the page with new tables; the rest is written by hand."""
    return _TABLES.sub(lambda _: configuration_tables(), text)


def configuration_tables() -> str:
    """Return a heading and a table for each section of the configuration."""
    return "\n".join(_sections(Configuration, "", ())).lstrip("\n") + "\n"


def _sections(
    section: type[Section], path: str, attributes: tuple[str, ...], *, element: bool = False
) -> Iterator[str]:
    rows = list(rows_of(section, path, () if element else attributes, element=element))
    if rows:
        yield from _table(section, path, rows, element=element)
    for attribute, info in section.model_fields.items():
        here = _joined(path, _key(attribute, info))
        for inner in _sections_in(info.annotation):
            inside = element or info.annotation is not inner
            yield from _sections(inner, here, (*attributes, attribute), element=inside)


def _table(
    section: type[Section], path: str, rows: list[KeyRow], *, element: bool
) -> Iterator[str]:
    yield f"\n## {path}" + (", an element" if element else "") + "\n"
    yield " ".join((section.__doc__ or "").split("\n\n", maxsplit=1)[0].split()) + "\n"
    yield "| Key | Type | Default | Meaning |"
    yield "|---|---|---|---|"
    long = {}
    for row in rows:
        default = _default(row)
        if len(default) > _SHOWN:
            long[row.name] = default
            default = "below"
        names = f"`{row.name}`" + "".join(f", also `{each}`" for each in row.aliases)
        meaning = row.description + ("" if element else _mark(row))
        cells = [names, _type(row.field), default, meaning]
        yield "| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |"
    for name, default in long.items():
        yield f"\nThe default of `{name}`:\n"
        yield "```json"
        yield json.dumps(json.loads(default.strip("`")), indent=2)
        yield "```"


def rows_of(
    section: type[Section], path: str, attributes: tuple[str, ...], *, element: bool
) -> Iterator[KeyRow]:
    """Yield the keys of one section that are no sections themselves."""
    described = _descriptions(section)
    for attribute, info in section.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, Section):
            continue
        key = _key(attribute, info)
        choices = info.validation_alias
        names = choices.choices if isinstance(choices, AliasChoices) else ()
        others = tuple(str(each) for each in names if each != key)
        here = () if element else (*attributes, attribute)
        yield KeyRow(_joined(path, key), here, info, others, described[attribute])


def _descriptions(section: type[Section]) -> dict[str, str]:
    """Return the string below each attribute in one line. pydantic would read it at each start."""
    [declared] = ast.parse(inspect.getsource(section)).body
    assert isinstance(declared, ast.ClassDef)
    return {
        field.target.id: " ".join(below.value.value.split())
        for field, below in pairwise(declared.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }


def _key(attribute: str, info: FieldInfo) -> str:
    return info.serialization_alias or attribute


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _sections_in(annotation: object) -> Iterator[type[Section]]:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for argument in get_args(annotation):
        yield from _sections_in(argument)


# Types and defaults, as an admin writes them.


def _type(info: FieldInfo) -> str:
    annotation = info.annotation
    if annotation is timedelta:
        return "duration"
    if annotation is int:
        return "size" if _is_size(info) else "number"
    names = {bool: "true, false", str: "text", float: "number"}
    if isinstance(annotation, type) and annotation in names:
        return names[annotation]
    if (origin := getattr(annotation, "__origin__", None)) in (tuple, dict):
        return "list" if origin is tuple else "map"
    return ", ".join(f"`{each}`" for each in get_args(annotation))


def _is_size(info: FieldInfo) -> bool:
    return any(getattr(each, "func", None) is format_size for each in info.metadata)


def _default(row: KeyRow) -> str:
    if row.field.is_required():
        return "must be set"
    value = _value(Configuration(), row.attributes) if row.attributes else row.field.default
    if value in ("", (), {}):
        return "empty"
    if isinstance(value, timedelta):
        return f"`{format_duration(value)}`"
    if _is_size(row.field):
        return f"`{format_size(value)}`"
    return f"`{value if isinstance(value, str) else json.dumps(_plain(value))}`"


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


# The effects of a change, found by making one.


def _mark(row: KeyRow) -> str:
    """Return what ends the meaning of a key whose change needs no restart, or more than that."""
    if row.path in _READ_AGAIN:
        return " **No restart.**"
    return " **Manifests.**" if _is_in_manifests(row.attributes) else ""


def _is_in_manifests(attributes: tuple[str, ...]) -> bool:
    """True if a changed value changes a webhook configuration or a policy."""
    return any(
        _manifests(_changed(config, attributes, another)) != manifests
        for config, manifests in _overlays()
        for another in _others(_value(config, attributes))
    )


def _manifests(config: Configuration) -> str:
    return registration_yaml(config) + policies_yaml(config)


@cache
def _overlays() -> tuple[tuple[Configuration, str], ...]:
    """Return each overlay's configuration: some keys have an effect only with others."""
    overlays = Path(__file__).resolve().parents[1] / "deploy" / "manifests" / "overlays"
    configs = [load_config(file).config for file in sorted(overlays.glob("*/config.yaml"))]
    return tuple((config, _manifests(config)) for config in configs)


def _value(section: Section, attributes: tuple[str, ...]) -> Any:
    value: Any = section
    for each in attributes:
        value = getattr(value, each)
    return value


def _changed(section: _S, attributes: tuple[str, ...], another: object) -> _S:
    first, *rest = attributes
    changed = _changed(getattr(section, first), tuple(rest), another) if rest else another
    return section.model_copy(update={first: changed})


_REQUIREMENT: Final = LabelSelectorRequirement(key="another", operator="Exists")


def _others(value: Any) -> list[Any]:
    """Return other values of the same type."""
    makers: dict[type, Callable[[Any], list[Any]]] = {
        bool: lambda it: [not it],
        str: lambda it: [f"{it}x", ""],
        int: lambda it: [it + 1],
        float: lambda it: [it + 1],
        timedelta: lambda it: [it + timedelta(seconds=1)],
        # All but its last element, or the only possible element of an empty list.
        tuple: lambda it: [it[:-1], it[:1]] if it else [(_REQUIREMENT,)],
        dict: lambda it: [{**it, "another": "true"}],
    }
    return makers[type(value)](value)
