"""Writes the tables of docs/users/generate.md: the keys of `appwrapper generate`."""

from collections.abc import Iterator

from pydantic.fields import FieldInfo

from cli.generation.describe import example_of, items_of, sections
from cli.generation.legacy import KEYS as LEGACY_KEYS


def values_tables() -> str:
    """Return a table for each section of keys."""
    return "\n".join(_lines())


def _lines() -> Iterator[str]:
    for heading, keys in sections().items():
        yield f"\n### {heading}\n"
        yield "| Key | Default | What it does | Example |"
        yield "|---|---|---|---|"
        for name, each in keys.items():
            yield _row(name, each)
            yield from (_row(f"{name}.{inner}", item) for inner, item in items_of(each).items())
    yield "\n### Keys of older generators\n"
    yield "The command ignores these keys with a warning. The warning names the new key, if any:"
    yield ", ".join(f"`{key}`" for key in LEGACY_KEYS) + "."


def _row(name: str, each: FieldInfo) -> str:
    about = (each.description or "").replace("|", "\\|")
    return f"| `{name}` | {_default(each)} | {about} | `{example_of(each)}` |"


def _default(each: FieldInfo) -> str:
    if each.is_required():
        return "must be set"
    if each.default in (None, ()):
        return ""
    return f"`{str(each.default).lower() if isinstance(each.default, bool) else each.default}`"
