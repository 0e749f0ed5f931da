"""Declare the answers of the webhook. "Denied" is the user's error, "errored" the webhook's."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from shared.api import names
from shared.api.findings import FieldError, FieldErrorKind, describe
from shared.api.objects import JsonObject


@dataclass(frozen=True, slots=True)
class Allowed:
    """No rule objects."""

    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Patched:
    """Allowed with changes: the operations of a JSON patch (RFC 6902), at least one."""

    patch: list[JsonObject]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Denied:
    """Rejected. `status` is a metav1.Status, which the API server forwards to the user.

    `rules` are the names of the rules that rejected it, for metrics. `reasons` are the texts in the
    message of the status, one by one.
    """

    status: JsonObject
    warnings: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    reasons: tuple[str, ...] = field(default=(), compare=False)


class ErrorReason(StrEnum):
    """Why a request could not be checked: a label of a metric."""

    # A rule failed.
    BUG = "bug"
    # A fact that a rule needs is missing: the API server does not answer, or a cache is not filled.
    MISSING_FACTS = "missing_facts"
    # The review lacks what every review has.
    UNUSABLE_REQUEST = "unusable_request"


@dataclass(frozen=True, slots=True)
class Errored:
    """Not checked and therefore not admitted. `code` is an HTTP status."""

    code: int
    message: str
    reason: ErrorReason = ErrorReason.BUG


Verdict = Allowed | Patched | Denied | Errored


# Rejections have the API server's form: Invalid with one cause for each error, or Forbidden.

_CAUSES: Final = {
    FieldErrorKind.REQUIRED: "FieldValueRequired",
    FieldErrorKind.INVALID: "FieldValueInvalid",
    FieldErrorKind.DUPLICATE: "FieldValueDuplicate",
    FieldErrorKind.FORBIDDEN: "FieldValueForbidden",
    FieldErrorKind.TOO_MANY: "FieldValueTooMany",
    FieldErrorKind.TOO_LONG: "FieldValueTooLong",
    FieldErrorKind.UNSUPPORTED: "FieldValueNotSupported",
    FieldErrorKind.INTERNAL: "InternalError",
}


def invalid_status(name: str, errors: Sequence[FieldError]) -> JsonObject:
    """Return the metav1.Status for the AppWrapper `name` with `errors` (at least one).

    422 and not 403: the object is wrong, not the user's rights. kubectl prints one error a line
    with its field, and clients do not report missing permissions.
    """
    causes = [
        {
            "reason": _CAUSES[error.kind],
            "message": str(error).removeprefix(f"{error.path}: "),
            "field": error.path,
        }
        for error in errors
    ]
    return {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": f'{names.KIND}.{names.GROUP} "{name}" is invalid: {describe(errors)}',
        "details": {
            "name": name,
            "group": names.GROUP,
            "kind": names.KIND,
            "causes": causes,
        },
    }


def forbidden_status(group_kind: str, name: str, reasons: Sequence[str]) -> JsonObject:
    """Return the metav1.Status for an object that may not be created, with at least one reason.

    403: the object is valid, but not allowed in this namespace.
    """
    group, _, kind = group_kind.rpartition("/")
    named = f"{kind}.{group}" if group else kind
    return {
        "status": "Failure",
        "code": 403,
        "reason": "Forbidden",
        "message": f'{named} "{name}" is forbidden: {"; ".join(reasons)}',
        "details": {"name": name, "group": group, "kind": kind},
    }
