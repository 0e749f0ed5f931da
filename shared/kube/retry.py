"""Which failed requests are sent again at once, and after how long. Pure.

This is the lowest of three levels of retry (the others: the work queue, and the retries of a
workload). It only bridges moments: a connection that broke, a server that asks for patience.
"""

from shared.kube.errors import ApiError, KubeError, TooManyRequests, Unreachable
from shared.kube.requests import Request

# Seconds before the second and the third try of a read that got no answer.
UNREACHABLE_DELAYS = (0.2, 1.0)
# How often a request is put off by the server before its caller hears of it.
BUSY_TRIES = 5
# The longest wait in one request. Who is asked for more tells the caller, who has other work to do
# meanwhile, and obeys.
LONGEST_WAIT = 5.0


def retry_delay(request: Request, error: KubeError, tries: int) -> float | None:
    """Seconds until the next try after `tries` failed ones; None: let the caller know.

    429 is obeyed for every verb, because the server did nothing yet. A missing answer and a 5xx
    that names a time are retried for reads only: a write may have taken effect. Everything else,
    403 above all, does not change by asking again.
    """
    if isinstance(error, TooManyRequests):
        return _wait(error) if tries < BUSY_TRIES else None
    if not request.idempotent:
        return None
    if isinstance(error, Unreachable):
        return UNREACHABLE_DELAYS[tries - 1] if tries <= len(UNREACHABLE_DELAYS) else None
    if isinstance(error, ApiError) and error.status >= 500 and error.retry_after is not None:
        return _wait(error) if tries < BUSY_TRIES else None
    return None


def _wait(error: ApiError) -> float | None:
    asked = 1.0 if error.retry_after is None else error.retry_after
    return asked if asked <= LONGEST_WAIT else None
