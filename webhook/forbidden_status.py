"""A refusal in the form of the API server's own: reason Forbidden, code 403.

For objects that may be as they are, but not here: `invalid_status.py` is for those that are wrong.
"""

from collections.abc import Sequence

from shared.api.objects import JsonObject
from webhook.admission_review import AdmissionRequest


def forbidden_status(request: AdmissionRequest, reasons: Sequence[str]) -> JsonObject:
    """The metav1.Status for an object that may not be created, for `reasons` (at least one)."""
    group, _, kind = request.group_kind.rpartition("/")
    named = f"{kind}.{group}" if group else kind
    name = request.display_name
    return {
        "status": "Failure",
        "code": 403,
        "reason": "Forbidden",
        "message": f'{named} "{name}" is forbidden: {"; ".join(reasons)}',
        "details": {"name": name, "group": group, "kind": kind},
    }
