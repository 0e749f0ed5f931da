"""What the webhook can answer. "Denied" is the user's fault, "errored" is ours."""

from dataclasses import dataclass
from enum import StrEnum

from shared.api.objects import JsonObject


@dataclass(frozen=True, slots=True)
class Allowed:
    """Nothing against it."""

    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Patched:
    """Allowed with changes: the operations of a JSON patch (RFC 6902), at least one."""

    patch: list[JsonObject]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Denied:
    """Refused. `status` is a metav1.Status, which the API server hands on to the user.

    `rules` are the names of those that refused, for metrics.
    """

    status: JsonObject
    warnings: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


class ErrorReason(StrEnum):
    """Why a request could not be judged: a label of a metric."""

    # A rule failed.
    BUG = "bug"
    # What a rule must know could not be found out: the API server does not answer, a cache is not
    # filled yet.
    MISSING_FACTS = "missing_facts"
    # The review lacks what every review has.
    UNUSABLE_REQUEST = "unusable_request"


@dataclass(frozen=True, slots=True)
class Errored:
    """Could not be judged, so it does not get in. `code` is an HTTP status."""

    code: int
    message: str
    reason: ErrorReason = ErrorReason.BUG


Verdict = Allowed | Patched | Denied | Errored
