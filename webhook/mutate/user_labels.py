"""Who submitted an AppWrapper, as labels: for accounting and for selecting."""

import re
from collections.abc import Iterator
from typing import Final

from shared.api.labels import LONGEST_VALUE
from shared.api.names import LABEL_USER, LABEL_USERID
from webhook.admission_review import AdmissionRequest
from webhook.facts import Facts
from webhook.json_patch import SetField

_NOT_IN_LABELS: Final = re.compile(r"[^-_.A-Za-z0-9]")


def set_user_labels(request: AdmissionRequest, _facts: Facts) -> Iterator[SetField]:
    """Who submitted an AppWrapper, as labels: for accounting and for selecting.

    On CREATE: name and id from the request, whatever the user wrote there.
    """
    yield SetField(("metadata", "labels", LABEL_USER), as_label_value(request.user.name))
    yield SetField(("metadata", "labels", LABEL_USERID), as_label_value(request.user.uid))


def as_label_value(text: str) -> str:
    """`text` as a valid label value: other characters become `_`, cut to 63, ends trimmed.

    A user name such as `system:serviceaccount:team:me` becomes `system_serviceaccount_team_me`.
    """
    return _NOT_IN_LABELS.sub("_", text)[:LONGEST_VALUE].strip("-_.")
