"""Find misspelt fields and values of a wrong type around what an AppWrapper wraps. Pure.

The API server reports these before it calls the webhook, and then nothing else. `Corrected.value`
is the object without them, so that one round reports all errors.
"""

import re
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from cli.shipped.data import pod_schema
from shared.api.names import API_VERSION, KIND
from shared.api.objects import JsonObject, JsonValue
from shared.pod_schema.pod_schema import MAP_OF, Place, PodSchema

_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_APPWRAPPER: Final = "AppWrapper"
_STRINGS: Final = f"{MAP_OF}string"
# A test compares these with the CustomResourceDefinition.
DEFINITIONS: Final = {
    _APPWRAPPER: {
        "apiVersion": "string",
        "kind": "string",
        "metadata": _METADATA,
        "spec": "AppWrapperSpec",
        "status": "anything",
    },
    "AppWrapperSpec": {
        "components": "[]Component",
        "managedBy": "string",
        "suspend": "boolean",
    },
    "Component": {
        "annotations": _STRINGS,
        "podSetInfos": "anything",
        "podSets": "[]PodSet",
        "template": "anything",
    },
    "PodSet": {"annotations": _STRINGS, "path": "string", "replicas": "int32"},
}
_MEANT: Final = re.compile(r'did you mean "(?P<field>[^"]+)"')


@dataclass(slots=True)
class Corrected:
    """`value`: the object without the errors. `written`: paths in it, with the user's own ones."""

    value: JsonObject
    errors: list[str] = field(default_factory=list)
    written: dict[str, str] = field(default_factory=dict)

    def as_written(self, path: str) -> str:
        """Return the path in the user's object of a path in `value`."""
        around = [each for each in self.written if f"{path}.".startswith((f"{each}.", f"{each}["))]
        known = max(around, key=len, default="")
        return self.written[known] + path.removeprefix(known) if known else path

    def correct(self, name: str, part: JsonObject, path: str, *, wrapped: bool = False) -> None:
        """Report and correct the mistakes in `part`, which is of the defined type `name`.

        The API server ignores unknown fields of `wrapped` objects.
        """
        for each in list(_schema().mistakes(name, part)):
            if each.fault is None and wrapped:
                continue
            found = each.error(path)
            found = replace(found, path=self.as_written(found.path.removeprefix(".")))
            if str(found) not in self.errors:
                self.errors.append(str(found))
            container, key = _container(part, each.place)
            if each.fault is not None:
                container[key] = _as_text(container[key])
                continue
            value, meant = container.pop(key), _MEANT.search(found.detail)
            if meant and meant["field"] not in container:
                container[meant["field"]] = value
                parent = each.error(path).path.removeprefix(".").removesuffix(key)
                self.written[f"{parent}{meant['field']}"] = found.path


def corrected(target: JsonObject) -> Corrected:
    """Return a corrected copy of the object, and the error about each mistake."""
    found = Corrected(deepcopy(target))
    if target.get("apiVersion") != API_VERSION or target.get("kind") != KIND:
        _correct_metadata(found, found.value, "metadata")
        return found
    renamed = -1
    while len(found.written) > renamed:  # a field is read once it has its name
        renamed = len(found.written)
        found.correct(_APPWRAPPER, found.value, "")
    spec = found.value.get("spec")
    components = spec.get("components") if isinstance(spec, dict) else None
    for index, each in enumerate(components if isinstance(components, list) else ()):
        template = each.get("template") if isinstance(each, dict) else None
        if isinstance(template, dict):
            path = f"spec.components[{index}].template.metadata"
            _correct_metadata(found, template, path, wrapped=True)
    return found


def _correct_metadata(
    found: Corrected, target: JsonObject, path: str, *, wrapped: bool = False
) -> None:
    own = target.get("metadata")
    if isinstance(own, dict):
        found.correct(_METADATA, own, path, wrapped=wrapped)


def _container(part: JsonObject, place: Place) -> tuple[JsonValue, JsonValue]:
    """Return what holds the value at `place`, and its key there."""
    keys: list[str | int] = []
    while place:
        place, _, key = place
        keys.append(key)
    for key in reversed(keys[1:]):
        part = part[key]  # type: ignore[index]
    return part, keys[0]


def _as_text(value: JsonValue) -> JsonValue:
    """Return the string that the user meant by a number or a truth value."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


@cache
def _schema() -> PodSchema:
    return PodSchema(pod_schema().definitions | DEFINITIONS)
