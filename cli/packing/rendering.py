"""Write an AppWrapper as YAML, with components as their users wrote them."""

from typing import Any, Final

import yaml

from cli.manifests.excerpts import indented
from cli.manifests.manifest import Manifest
from cli.manifests.places import ManifestError
from cli.manifests.scalars import needs_quotes
from cli.manifests.yaml_text import parse_yaml
from cli.packing.assembling import Packed
from shared.api.objects import JsonObject, JsonValue
from webhook.rules.json_patch import is_identical

_TEMPLATE: Final = 6  # columns before the fields of a component's template
_DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def render(packed: Packed) -> str:
    """Return the AppWrapper as YAML for kubectl."""
    whole = packed.as_json()
    parts = [dump({key: whole[key] for key in ("apiVersion", "kind", "metadata")})]
    parts.append("spec:\n  components:\n")
    for component in packed.components:
        start = "  - "
        if component.pod_sets:
            declared = dump({"podSets": [each.as_json() for each in component.pod_sets]})
            parts.append(start + indented(declared, 4).removeprefix("    "))
            start = "    "
        parts += [start, "template:\n", template_text(component.manifest)]
    return "".join(parts)


def template_text(manifest: Manifest) -> str:
    """Return the object's lines below `template:`, as written if they keep their value there."""
    if manifest.text is not None:
        moved = indented(manifest.text, _TEMPLATE)
        if _reads_as(moved, manifest.value):
            return moved
    return indented(dump(manifest.value), _TEMPLATE)


def loses_comments(manifest: Manifest) -> bool:
    """True if the object was YAML but its text has another meaning in the AppWrapper."""
    if manifest.text is None:
        return False
    return not _reads_as(indented(manifest.text, _TEMPLATE), manifest.value)


def _reads_as(moved: str, value: JsonObject) -> bool:
    """True if the moved text still has this value."""
    try:
        documents = parse_yaml(f"template:\n{moved}")
    except ManifestError:
        return False
    return len(documents) == 1 and is_identical(documents[0].value, {"template": value})


def dump(value: JsonValue) -> str:
    """Return block YAML that kubectl reads as this value."""
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        default_flow_style=False,
        sort_keys=False,
        allow_unicode=True,
        width=10_000,
    )
    return text


class _Dumper(_DUMPER):  # type: ignore[misc]
    """Quotes texts that kubectl would read as another value. Repeats shared parts; no aliases."""

    def ignore_aliases(self, data: object) -> bool:
        return True

    def represent_mapping(self, tag: str, mapping: Any, flow_style: Any = None) -> Any:
        """Quote keys of several lines: a key cannot be a block."""
        node = super().represent_mapping(tag, mapping, flow_style)
        for key, _ in node.value:
            if key.style == "|":
                key.style = '"'
        return node


def _text(dumper: Any, text: str) -> Any:
    style = None
    if "\n" in text:
        # PyYAML writes wrong blocks for texts that begin with blanks or end with empty lines.
        style = '"' if text[0].isspace() or text.endswith("\n\n") else "|"
    elif needs_quotes(text):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
