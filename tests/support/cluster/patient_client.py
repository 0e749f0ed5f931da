"""The administrator's client of the tests: a request that nobody could judge is sent again.

The webhook asks the API server what the user of each create may do, an admin too. If that takes
more than its two seconds, as on a busy machine, it denies the request. Each webhook itself, ours
and Kueue's, has ten seconds for a review. In both cases nothing is stored.
"""

from shared.api.objects import JsonObject
from shared.kube.client import ApiError, KubeClient
from shared.kube.requests import Request
from tests.support.cluster.kubectl import TRIES, UNANSWERED


def be_patient(client: KubeClient) -> None:
    """Lets the client send each request again that nobody could judge.

    Only once without `retry`, as tests do that count each refusal.
    """
    once = client.send

    async def send(request: Request, *, retry: bool = True) -> JsonObject:
        for _ in range(TRIES - 1 if retry else 0):
            try:
                return await once(request)
            except ApiError as error:
                if not UNANSWERED.search(error.message):
                    raise
        return await once(request, retry=retry)

    client.send = send  # type: ignore[method-assign]
