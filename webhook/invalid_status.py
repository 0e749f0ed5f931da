"""A refusal in the form of the API server's own: reason Invalid, code 422, every error a cause.

422 and not 403: the object is wrong, not the user's rights. kubectl prints such a status as a list,
one error a line with its field, and clients do not take it for missing permissions.
"""

from collections.abc import Sequence
from typing import Final

from shared.api import names
from shared.api.findings import FieldError, FieldErrorKind, describe
from shared.api.objects import JsonObject
from webhook.admission_review import AdmissionRequest

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


def invalid_status(request: AdmissionRequest, errors: Sequence[FieldError]) -> JsonObject:
    """The metav1.Status for an AppWrapper with `errors` (at least one)."""
    name = request.display_name
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
