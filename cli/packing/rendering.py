"""Write an AppWrapper as YAML, with components as their users wrote them."""

from typing import Final

from cli.manifests.excerpts import indented
from cli.manifests.manifest import Manifest
from cli.manifests.places import ManifestError
from cli.manifests.writing import as_yaml
from cli.manifests.yaml_text import parse_yaml
from cli.packing.assembling import Packed
from shared.api.objects import JsonObject
from webhook.rules.json_patch import is_identical

_TEMPLATE: Final = 6  # columns before the fields of a component's template


def render(packed: Packed) -> tuple[str, list[Manifest]]:
    """Return the AppWrapper as YAML for kubectl, and the objects that lose their comments.

    An object keeps its lines if they keep their value below `template:`.
    """
    whole = packed.as_json()
    parts = [as_yaml({key: whole[key] for key in ("apiVersion", "kind", "metadata")})]
    parts.append("spec:\n  components:\n")
    losing = []
    for component in packed.components:
        start = "  - "
        if beside := component.beside_template:
            declared = as_yaml(beside)
            parts.append(start + indented(declared, 4).removeprefix("    "))
            start = "    "
        manifest = component.manifest
        template = indented(manifest.text or "", _TEMPLATE)
        if manifest.text is None or not _reads_as(template, manifest.value):
            template = indented(as_yaml(manifest.value), _TEMPLATE)
            losing += [] if manifest.text is None else [manifest]
        parts += [start, "template:\n", template]
    return "".join(parts), losing


def _reads_as(moved: str, value: JsonObject) -> bool:
    """True if the moved text still has this value."""
    try:
        documents = parse_yaml(f"template:\n{moved}")
    except ManifestError:
        return False
    return len(documents) == 1 and is_identical(documents[0].value, {"template": value})
