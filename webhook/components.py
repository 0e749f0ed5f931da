"""The components of an AppWrapper, taken apart once for all rules: each an object of some Kind."""

import re
from dataclasses import dataclass
from typing import Final

from shared.api.field_errors import FieldError, FieldErrorKind
from shared.api.json import JsonObject, JsonValue
from shared.api.labels import is_dns_subdomain

# Versions and Kinds are DNS labels of RFC 1035, save that Kinds have capitals.
_NAME: Final = re.compile(r"[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_LONGEST_SHOWN: Final = 253
_MOST_ERRORS: Final = 100  # nobody reads more, and a body can hold a million


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
    def api_version(self) -> str:
        """`group/version`, or `version` in the core group."""
        found: str = self.template["apiVersion"]
        return found

    @property
    def group_kind(self) -> str:
        """`group/Kind`, or `Kind` in the core group: as configuration and messages name Kinds."""
        return f"{self.group}/{self.kind}" if self.group else self.kind


def components_of(target: JsonObject) -> tuple[list[Component], list[FieldError]]:
    """The components of an AppWrapper, taken apart once for all rules: each an object of some Kind.

    What can be judged, and what is malformed.

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
            if len(errors) == _MOST_ERRORS:
                break
    return components, errors


def _component(path: str, element: JsonValue) -> Component | FieldError:
    if not isinstance(element, dict):
        return FieldError(path, FieldErrorKind.INVALID, "must be an object")
    if not isinstance(element.get("annotations") or {}, dict):
        return FieldError(f"{path}.annotations", FieldErrorKind.INVALID, "must be an object")
    template, own, path = element.get("template"), path, f"{path}.template"
    if template is None:
        return FieldError(path, FieldErrorKind.REQUIRED, "the resource to create")
    if not isinstance(template, dict):
        return FieldError(path, FieldErrorKind.INVALID, "must be an object")
    if not isinstance(template.get("metadata") or {}, dict):
        return FieldError(f"{path}.metadata", FieldErrorKind.INVALID, "must be an object")
    return _wrong_kind(path, template) or Component(
        own,
        element,
        template,
        template["apiVersion"].rpartition("/")[0],
        template["kind"],
    )


def _wrong_kind(path: str, template: JsonObject) -> FieldError | None:
    """Both become parts of paths when the API server is asked about the Kind."""
    for key in ("apiVersion", "kind"):
        value = template.get(key)
        if value is None or value == "":
            return FieldError(f"{path}.{key}", FieldErrorKind.REQUIRED, "every resource has one")
        if not isinstance(value, str):
            return FieldError(f"{path}.{key}", FieldErrorKind.INVALID, "must be a string")
    group, slash, version = template["apiVersion"].rpartition("/")
    if not _NAME.fullmatch(version) or (slash and not is_dns_subdomain(group)):
        detail = "must be a version such as v1, or group and version such as batch/v1"
        return _invalid(f"{path}.apiVersion", detail, template["apiVersion"])
    if not _NAME.fullmatch(template["kind"]):
        return _invalid(f"{path}.kind", "must be a Kind such as Job", template["kind"])
    return None


def _invalid(path: str, detail: str, value: str) -> FieldError:
    shown = value if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]}..."
    return FieldError(path, FieldErrorKind.INVALID, detail, f'"{shown}"')
