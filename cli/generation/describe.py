"""Describe the keys: by a JSON schema and by a commented values file."""

from collections.abc import Iterator
from textwrap import wrap
from typing import Any, Final

from cli.generation.legacy import KEYS as LEGACY_KEYS
from cli.generation.shapes import Key, keys_of, record_schema
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
    schema = record_schema(Values)
    legacy = {
        key: {"deprecated": True, "description": "Ignored with a warning."} for key in LEGACY_KEYS
    }
    schema["properties"] |= legacy
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Values of `appwrapper generate`",
        **schema,
    }


def example() -> str:
    """Return a values file with every key. Only the keys of a minimal job are not commented out."""
    return "".join(_example_lines())


def sections() -> dict[str, list[Key]]:
    """Return the keys by heading."""
    headings = {first: heading for heading, first in SECTIONS.items()}
    found: dict[str, list[Key]] = {}
    heading = ""
    for name, each in keys_of(Values).items():
        heading = headings.get(name, heading)
        found.setdefault(heading, []).append(each)
    return found


def items_of(each: Key) -> dict[str, Key]:
    """Return the keys of a key's value, or of each item if the value is a list."""
    shape: Any = each.shape
    shape = getattr(shape, "shape", shape)
    return keys_of(shape.of) if hasattr(shape, "of") else {}


def _example_lines() -> Iterator[str]:
    yield _HEADER
    for heading, keys in sections().items():
        yield f"\n# ---- {heading} ----\n"
        for each in keys:
            yield "\n"
            yield from (f"# {line}\n" for line in wrap(each.about, _WIDTH))
            mark = "" if each.required or each.name in _USEFUL else "#"
            yield f"{mark}{each.name}: {each.example}\n"
