"""The components of an AppWrapper, taken apart once for all rules. Pure."""

from dataclasses import dataclass

from shared.api.field_errors import FieldError, FieldErrorKind
from shared.api.json import JsonObject, JsonValue


@dataclass(frozen=True, slots=True)
class Component:
    """One element of spec.components whose template is an object with apiVersion and kind.

    `path` is its own, as messages name it; `raw` is the whole element.
    """

    path: str
    raw: JsonObject
    template: JsonObject
    group: str
    kind: str

    @property
    def group_kind(self) -> str:
        """`group/Kind`, or `Kind` in the core group: as configuration and messages name Kinds."""
        return f"{self.group}/{self.kind}" if self.group else self.kind


def components_of(target: JsonObject) -> tuple[list[Component], list[FieldError]]:
    """What can be judged, and what is malformed.

    Most of the latter the CRD's schema refuses too; here nothing relies on that.
    """
    spec = target.get("spec")
    elements = spec.get("components") if isinstance(spec, dict) else None
    path = "spec.components"
    if elements is None or elements == []:
        detail = "an AppWrapper must contain at least one component"
        return [], [FieldError(path, FieldErrorKind.REQUIRED, detail)]
    if not isinstance(elements, list):
        return [], [FieldError(path, FieldErrorKind.INVALID, "must be an array")]
    components, errors = [], []
    for index, element in enumerate(elements):
        parsed = _component(f"{path}[{index}]", element)
        if isinstance(parsed, Component):
            components.append(parsed)
        else:
            errors.append(parsed)
    return components, errors


def _component(path: str, element: JsonValue) -> Component | FieldError:
    if not isinstance(element, dict):
        return FieldError(path, FieldErrorKind.INVALID, "must be an object")
    template = element.get("template")
    if template is None:
        return FieldError(f"{path}.template", FieldErrorKind.REQUIRED, "the resource to create")
    if not isinstance(template, dict):
        return FieldError(f"{path}.template", FieldErrorKind.INVALID, "must be an object")
    for key in ("apiVersion", "kind"):
        value = template.get(key)
        if value is None or value == "":
            detail = "every resource has one"
            return FieldError(f"{path}.template.{key}", FieldErrorKind.REQUIRED, detail)
        if not isinstance(value, str):
            return FieldError(f"{path}.template.{key}", FieldErrorKind.INVALID, "must be a string")
    group, _, _version = template["apiVersion"].rpartition("/")
    return Component(path, element, template, group, template["kind"])
