"""Writes the tables of docs/users/generate.md: the keys of `appwrapper generate`."""

from pydantic.fields import FieldInfo

from cli.generation.describe import example_of, items_of, sections
from cli.generation.legacy import KEYS as LEGACY_KEYS
from scripts.pages import table


def values_tables() -> str:
    """Return a table for each section of keys."""
    parts = []
    for heading, keys in sections().items():
        rows = []
        for name, each in keys.items():
            rows.append(_row(name, each))
            rows += [_row(f"{name}.{inner}", item) for inner, item in items_of(each).items()]
        head = ("Key", "Default", "What it does", "Example")
        parts += [f"### {heading}", table(head, rows)]
    parts += [
        "### Keys of older generators",
        "The command ignores these keys with a warning. The warning names the new key, if any:\n"
        + ", ".join(f"`{key}`" for key in LEGACY_KEYS)
        + ".",
    ]
    return "\n\n".join(parts)


def _row(name: str, each: FieldInfo) -> tuple[str, ...]:
    return f"`{name}`", _default(each), each.description or "", f"`{example_of(each)}`"


def _default(each: FieldInfo) -> str:
    if each.is_required():
        return "must be set"
    if each.default in (None, ()):
        return ""
    return f"`{str(each.default).lower() if isinstance(each.default, bool) else each.default}`"
