"""Writes the tables of docs/admins/configuration.md: every key of the operator's configuration."""

import ast
import inspect
import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from typing import Any, Final, get_args

from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from scripts.pages import first_paragraph, table
from shared.api.times import format_duration
from shared.config.configuration import Configuration
from shared.config.values import Section, format_size

# The keys whose values are also in the webhook configurations or the admission policies.
IN_MANIFESTS: Final = (
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
)
# The end of the meaning of a key whose change needs no restart of the programs, or more than one.
_MARKS: Final = {
    "appwrapper.pauseResets": " **No restart.**",
    **dict.fromkeys(IN_MANIFESTS, " **Manifests.**"),
}
_SHOWN: Final = 60  # characters of a default in its row; a longer one is printed below the table


def configuration_tables() -> str:
    """Return a heading and a table for each section of the configuration."""
    return "\n".join(_sections(Configuration, "", Configuration()))


def _sections(section: type[Section], path: str, defaults: Section | None) -> Iterator[str]:
    """Yield the lines of a section and of those below it; `defaults` is None inside lists, maps."""
    yield from _table(section, path, defaults)
    for attribute, info in section.model_fields.items():
        value = getattr(defaults, attribute, None)
        for inner in _sections_in(info.annotation):
            here = _joined(path, _key(attribute, info))
            yield from _sections(inner, here, value if isinstance(value, Section) else None)


def _table(section: type[Section], path: str, defaults: Section | None) -> Iterator[str]:
    """Yield the lines about the keys that are no sections themselves, if there are any."""
    described = _descriptions(section)
    rows, long = [], {}
    for attribute, info in section.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, Section):
            continue
        key, choices = _key(attribute, info), info.validation_alias
        names = choices.choices if isinstance(choices, AliasChoices) else ()
        also = "".join(f", also `{each}`" for each in names if each != key)
        default = _default(info, getattr(defaults, attribute, info.default))
        if len(default) > _SHOWN:
            long[key] = default
            default = "below"
        meaning = described[attribute] + _MARKS.get(_joined(path, key), "")
        rows.append((f"`{key}`{also}", _type(info), default, meaning))
    if not rows:
        return
    yield f"\n## {path}" + (", an element" if defaults is None else "") + "\n"
    yield first_paragraph(section.__doc__) + "\n"
    yield table(("Key", "Type", "Default", "Meaning"), rows)
    for key, default in long.items():
        yield f"\nThe default of `{key}`:\n"
        yield "```json"
        yield json.dumps(json.loads(default.strip("`")), indent=2)
        yield "```"


def _descriptions(section: type[Section]) -> dict[str, str]:
    """Return the string below each attribute in one line. pydantic would read it at each start."""
    [declared] = ast.parse(inspect.getsource(section)).body
    assert isinstance(declared, ast.ClassDef)
    found = {}
    for pair in pairwise(declared.body):
        match pair:
            case (
                ast.AnnAssign(target=ast.Name(id=attribute)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[attribute] = " ".join(text.split())
            case _:
                pass
    return found


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
        return "size" if is_size(info) else "number"
    names = {bool: "true, false", str: "text", float: "number"}
    if isinstance(annotation, type) and annotation in names:
        return names[annotation]
    if (origin := getattr(annotation, "__origin__", None)) in (tuple, dict):
        return "list" if origin is tuple else "map"
    return ", ".join(f"`{each}`" for each in get_args(annotation))


def is_size(info: FieldInfo) -> bool:
    """True if a value is a number of bytes, or a size such as 1Mi."""
    return any(getattr(each, "func", None) is format_size for each in info.metadata)


def _default(info: FieldInfo, value: Any) -> str:
    if info.is_required():
        return "must be set"
    if value in ("", (), {}):
        return "empty"
    if isinstance(value, timedelta):
        return f"`{format_duration(value)}`"
    if is_size(info):
        return f"`{format_size(value)}`"
    return f"`{value if isinstance(value, str) else json.dumps(_plain(value))}`"


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
