"""Writes the tables of docs/admins/configuration.md: every key of the operator's configuration."""

import ast
import inspect
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any, Final, get_args

from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from scripts.pages import first_paragraph
from shared.api.times import format_duration
from shared.config.configuration import Configuration
from shared.config.values import Section, format_size

# The end of the meaning of a key whose change needs no restart of the programs, or more than one.
_MARKS: Final = {
    "appwrapper.pauseResets": " **No restart.**",
    **dict.fromkeys(
        (
            "appwrapper.defaultQueueNameOnDirectKinds",
            "appwrapper.faultTolerance.deletionGracePeriod",
            "appwrapper.allowedKinds.direct",
            "appwrapper.teamNamespaceSelector.matchLabels",
            "appwrapper.teamNamespaceSelector.matchExpressions",
            "appwrapper.exemptions.quotaManagers",
            "appwrapper.exemptions.serviceAccountNamespaces",
            "certManagement.namespace",
            "certManagement.mutatingWebhookConfigName",
            "certManagement.validatingWebhookConfigName",
            "certManagement.webhookServiceName",
        ),
        " **Manifests.**",
    ),
}
_SHOWN: Final = 60  # characters of a default in its row; a longer one is printed below the table


@dataclass(frozen=True)
class KeyRow:
    """One key. `path` begins with its section's; `default` is None if the key must be set."""

    path: str
    field: FieldInfo
    default: Any
    aliases: tuple[str, ...]
    description: str

    @property
    def name(self) -> str:
        """Return the key without its section."""
        return self.path.rpartition(".")[2]


def configuration_tables() -> str:
    """Return a heading and a table for each section of the configuration."""
    return "\n".join(_sections(Configuration, "", Configuration()))


def _sections(section: type[Section], path: str, defaults: Section | None) -> Iterator[str]:
    """Yield the lines of a section and of those below it; `defaults` is None inside lists, maps."""
    if rows := list(_rows(section, path, defaults)):
        yield from _table(section, path, rows, element=defaults is None)
    for attribute, info in section.model_fields.items():
        value = getattr(defaults, attribute, None)
        for inner in _sections_in(info.annotation):
            here = _joined(path, _key(attribute, info))
            yield from _sections(inner, here, value if isinstance(value, Section) else None)


def _table(
    section: type[Section], path: str, rows: list[KeyRow], *, element: bool
) -> Iterator[str]:
    yield f"\n## {path}" + (", an element" if element else "") + "\n"
    yield first_paragraph(section.__doc__) + "\n"
    yield "| Key | Type | Default | Meaning |"
    yield "|---|---|---|---|"
    long = {}
    for row in rows:
        default = _default(row)
        if len(default) > _SHOWN:
            long[row.name] = default
            default = "below"
        names = f"`{row.name}`" + "".join(f", also `{each}`" for each in row.aliases)
        meaning = row.description + _MARKS.get(row.path, "")
        cells = [names, _type(row.field), default, meaning]
        yield "| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |"
    for name, default in long.items():
        yield f"\nThe default of `{name}`:\n"
        yield "```json"
        yield json.dumps(json.loads(default.strip("`")), indent=2)
        yield "```"


def _rows(section: type[Section], path: str, defaults: Section | None) -> Iterator[KeyRow]:
    """Yield the keys of one section that are no sections themselves."""
    described = _descriptions(section)
    for attribute, info in section.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, Section):
            continue
        key = _key(attribute, info)
        choices = info.validation_alias
        names = choices.choices if isinstance(choices, AliasChoices) else ()
        others = tuple(str(each) for each in names if each != key)
        default = None if info.is_required() else getattr(defaults, attribute, info.default)
        yield KeyRow(_joined(path, key), info, default, others, described[attribute])


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
    value = row.default
    if value is None:
        return "must be set"
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
