"""docs/users/generate-values.md, as text: the keys of `appwrapper generate`."""

from collections.abc import Iterator

from cli.generation.describe import items_of, sections
from cli.generation.legacy import KEYS as LEGACY_KEYS
from cli.generation.shapes import Key

_OPENING = """\
# Keys of a values file

For researchers who write a values file and look up a key.

Generated from `cli/generation/values.py` by `make generate`. How to use them:
[generate.md](generate.md). `appwrapper generate --example` prints them as a values file, and
`appwrapper generate --schema` as a JSON schema for editors. null means the default, save where it
says otherwise.
"""


def values_page() -> str:
    """The whole page."""
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
    yield "Ignored with a warning, which names the key to write instead where there is one:"
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
