"""Refuse components that are no object with apiVersion, kind and sound metadata."""

import re
from typing import Final

from shared.api.findings import FieldError, FieldErrorKind
from shared.api.objects import JsonObject, JsonValue, is_dns_subdomain

# Versions and Kinds are DNS labels of RFC 1035, but Kinds have capitals.
_NAME: Final = re.compile(r"[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_LONGEST_SHOWN: Final = 253


def problem_of(path: str, element: JsonValue) -> FieldError | None:
    """Return what is wrong with an element of spec.components; None without a problem."""
    if not isinstance(element, dict):
        return FieldError(path, FieldErrorKind.INVALID, "must be an object")
    if not isinstance(element.get("annotations"), dict | None):
        return FieldError(f"{path}.annotations", FieldErrorKind.INVALID, "must be an object")
    template, path = element.get("template"), f"{path}.template"
    if template is None:
        return FieldError(path, FieldErrorKind.REQUIRED, "the resource to create")
    if not isinstance(template, dict):
        return FieldError(path, FieldErrorKind.INVALID, "must be an object")
    if not isinstance(template.get("metadata"), dict | None):
        return FieldError(f"{path}.metadata", FieldErrorKind.INVALID, "must be an object")
    return _wrong_kind(path, template)


def _wrong_kind(path: str, template: JsonObject) -> FieldError | None:
    """Check apiVersion and kind: both become parts of paths in requests to the API server."""
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
