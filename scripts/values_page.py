"""Writes docs/users/generate-values.md: the keys of `appwrapper generate`."""

from collections.abc import Iterator

from cli.generation.describe import items_of, sections
from cli.generation.legacy import KEYS as LEGACY_KEYS
from cli.generation.shapes import Key

_OPENING = """\
# Keys of a values file

For researchers who write a values file and look up a key.

[generate.md](generate.md) shows how to use them. `appwrapper generate --example` prints them as a
values file, `appwrapper generate --schema` as a JSON schema for editors. The value `null` means the
default, unless the table states another meaning. `make generate` writes this page from
`cli/generation/values.py`.
"""


def values_page() -> str:
    return _OPENING + "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    for heading, keys in sections().items():
        yield f"\n## {heading}\n"
        yield "| Key | Default | What it does | Example |"
        yield "|---|---|---|---|"
        for each in keys:
            yield _row(each.name, each)
            yield from (_row(f"{each.name}.{name}", item) for name, item in items_of(each).items())
    yield "\n## Keys of older generators\n"
    yield "The command ignores these keys with a warning. The warning names the new key, if any:"
    yield ", ".join(f"`{key}`" for key in LEGACY_KEYS) + "."


def _row(name: str, each: Key) -> str:
    about = each.about.replace("|", "\\|")
    return f"| `{name}` | {_default(each)} | {about} | `{each.example}` |"


def _default(each: Key) -> str:
    if each.required:
        return "must be set"
    if each.default in (None, ()):
        return ""
    return f"`{str(each.default).lower() if isinstance(each.default, bool) else each.default}`"
