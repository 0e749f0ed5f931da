"""Describe the keys: by a JSON schema and by a commented values file."""

from collections.abc import Iterator
from textwrap import wrap
from typing import Any, Final

from pydantic.fields import FieldInfo

from cli.generation.legacy import KEYS as LEGACY_KEYS
from cli.generation.value_types import keys_of, model_in
from cli.generation.values import SECTIONS, Values
from shared.api.objects import JsonObject

_WIDTH: Final = 78
_USEFUL: Final = ("mainProgram",)  # set in the example, like the required keys
_HEADER: Final = """\
# All values of `appwrapper generate`. Remove the # before those that you need. Then:
# appwrapper generate -f values.yaml | kubectl create -f -
"""


def json_schema() -> JsonObject:
    """Return the schema of a values file, without the rules about several keys together."""
    schema = Values.model_json_schema()
    for each in (schema, *schema["$defs"].values()):
        del each["title"]
        needed = each.get("required", ())
        each["properties"] = {
            name: _property(made, is_required=name in needed)
            for name, made in each["properties"].items()
        }
    schema["properties"] |= {
        key: {"deprecated": True, "description": "Ignored with a warning."} for key in LEGACY_KEYS
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Values of `appwrapper generate`",
    }


def _property(made: JsonObject, *, is_required: bool) -> JsonObject:
    """Return a key's schema; null means the default."""
    schema = {name: each for name, each in made.items() if name not in ("title", "examples")}
    described: JsonObject = {"description": schema.pop("description")}
    if (default := schema.pop("default", None)) not in (None, []):
        described["default"] = default
    if is_required:
        return described | schema
    options = schema.get("anyOf") or [schema]
    null = {"type": "null"}
    return described | {"anyOf": [*(each for each in options if each != null), null]}


def example() -> str:
    """Return a values file with every key. Only the keys of a minimal job are not commented out."""
    return "".join(_example_lines())


def sections() -> dict[str, dict[str, FieldInfo]]:
    """Return the keys by heading."""
    headings = {first: heading for heading, first in SECTIONS.items()}
    found: dict[str, dict[str, FieldInfo]] = {}
    heading = ""
    for name, each in keys_of(Values).items():
        heading = headings.get(name, heading)
        found.setdefault(heading, {})[name] = each
    return found


def items_of(each: FieldInfo) -> dict[str, FieldInfo]:
    """Return the keys of a key's value, or of each item if the value is a list."""
    model = model_in(each.annotation)
    return keys_of(model) if model else {}


def example_of(each: FieldInfo) -> Any:
    return (each.examples or [""])[0]


def _example_lines() -> Iterator[str]:
    yield _HEADER
    for heading, keys in sections().items():
        yield f"\n# ---- {heading} ----\n"
        for name, each in keys.items():
            yield "\n"
            yield from (f"# {line}\n" for line in wrap(each.description or "", _WIDTH))
            mark = "" if each.is_required() or name in _USEFUL else "#"
            yield f"{mark}{name}: {example_of(each)}\n"
