import pytest

from shared.kube import requests
from shared.kube.client import (
    ApiError,
    Conflict,
    Forbidden,
    KubeError,
    TooManyRequests,
    Unreachable,
)
from shared.kube.requests import retry_delay

READ = requests.get_path("/version")
WRITE = requests.post("/x", {})
BUSY = TooManyRequests(429, "TooManyRequests", "m", 2.0)


@pytest.mark.parametrize(
    ("request_", "error", "tries", "delay"),
    [
        pytest.param(READ, Unreachable("x"), 1, 0.2, id="a read that got no answer, soon"),
        pytest.param(READ, Unreachable("x"), 2, 1.0, id="then later"),
        pytest.param(READ, Unreachable("x"), 3, None, id="then no more"),
        pytest.param(WRITE, Unreachable("x"), 1, None, id="a write may have taken effect"),
        pytest.param(WRITE, BUSY, 1, 2.0, id="429 did nothing yet, whatever the verb"),
        pytest.param(READ, BUSY, 4, 2.0, id="a fourth time"),
        pytest.param(READ, BUSY, 5, None, id="not for ever"),
        pytest.param(
            WRITE, TooManyRequests(429, "x", "m"), 1, 1.0, id="a second when no time is named"
        ),
        pytest.param(WRITE, TooManyRequests(429, "x", "m", 5.0), 1, 5.0, id="as long as this"),
        pytest.param(
            WRITE, TooManyRequests(429, "x", "m", 5.1), 1, None, id="longer is the caller's to wait"
        ),
        pytest.param(
            READ, ApiError(503, "x", "m", 1.0), 1, 1.0, id="a read that is asked to come back"
        ),
        pytest.param(READ, ApiError(503, "x", "m"), 1, None, id="one that is not"),
        pytest.param(WRITE, ApiError(503, "x", "m", 1.0), 1, None, id="a write is not"),
        pytest.param(READ, Forbidden(403, "x", "m", 1.0), 1, None, id="403 never"),
        pytest.param(WRITE, Conflict(409, "x", "m"), 1, None, id="a conflict never"),
    ],
)
def test_retry_delay(
    request_: requests.Request, error: KubeError, tries: int, delay: float | None
) -> None:
    assert retry_delay(request_, error, tries) == delay
