"""What can go wrong when talking to the API server, one class per answer that somebody handles.

Policy: a failed read raises, it is never "nothing there". A network failure is `Unreachable`, an
answer is an `ApiError`; the cause is always chained. Message texts come from the server's `Status`
only, cut to 512 characters; other bodies may hold secrets and are dropped.
"""

from dataclasses import dataclass

_NO_RESOURCE = "the server could not find the requested resource"


class KubeError(Exception):
    """Any failure of a request to the API server."""


class Unreachable(KubeError):
    """No answer: refused, reset, timed out, TLS failure. Whether a write took effect is unknown."""


class CannotConnect(KubeError):
    """There is nothing to talk to: no kubeconfig, or an unusable one. Says which and why."""


@dataclass
class ApiError(KubeError):
    """The server answered with an error. `status` is the HTTP code, `reason` is `Status.reason`."""

    status: int
    reason: str
    message: str
    retry_after: float | None = None  # seconds, from the Retry-After header

    def __str__(self) -> str:
        return f"{self.status} {self.reason}: {self.message}"


class Unauthorized(ApiError):
    """401: the credentials were not accepted; they are read again once before this is raised."""


class Forbidden(ApiError):
    """403. Never retried: a denial does not change by asking again."""


class NotFound(ApiError):
    """404: the object is not there, or its resource is not."""

    @property
    def of_resource(self) -> bool:
        """It is the resource that is not served, which says nothing of objects (a test: 1.36).

        For groups of CRDs the answer is then no Status at all, for built-in ones a Status without
        an object.
        """
        return self.reason != "NotFound" or self.message == _NO_RESOURCE


class AlreadyExists(ApiError):
    """409 with reason AlreadyExists: a create met an object of that name."""


class Conflict(ApiError):
    """409: the object changed since it was read, or a precondition (UID) does not hold."""


class Gone(ApiError):
    """410: the resourceVersion is too old. List again."""


class Invalid(ApiError):
    """422: the object is not valid; trying again as it is cannot help."""


class TooManyRequests(ApiError):
    """429: wait for `retry_after` seconds."""
