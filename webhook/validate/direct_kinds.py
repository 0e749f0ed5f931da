"""What a team's users may create without wrapping it: configuration `allowedKinds.direct`."""

from collections.abc import Iterator
from typing import Final

from webhook.admission_review import AdmissionRequest
from webhook.facts import Facts
from webhook.validate.allowed_kinds import is_listed

WRAPPING: Final = "appwrapper pack FILE | kubectl apply -f -"


def check_direct_kind(request: AdmissionRequest, facts: Facts) -> Iterator[str]:
    """What a team's users may create without wrapping it: configuration `allowedKinds.direct`.

    Why the object may not be created as it is, and what to do instead.

    The API server asks only about team namespaces, and not about Kinds that are allowed and hold no
    pods, nor for whoever keeps the cluster going: see `registration.py`.
    """
    allowed = facts.config.allowed_kinds
    if facts.is_platform or is_listed(request.group_kind, allowed.direct):
        return
    if is_listed(request.group_kind, allowed.wrapped):
        yield (
            "in a team's namespace it has to be wrapped, so that it is queued and its quota is "
            f"counted: {WRAPPING}"
        )
    else:
        yield (
            "in a team's namespace it may neither be created nor be wrapped; allowed are "
            f"{', '.join(allowed.direct)}, and wrapped {', '.join(allowed.wrapped)}"
        )
