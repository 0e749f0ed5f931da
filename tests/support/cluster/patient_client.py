"""The administrator's client of the tests: a request that nobody could judge is sent again.

The webhook asks the API server what the user of each create may do, an admin too. If that takes
more than its two seconds, as on a busy machine, it denies the request. Each webhook itself, ours
and Kueue's, has ten seconds for a review. In both cases nothing is stored.
"""

from collections.abc import AsyncGenerator
from datetime import timedelta

from shared.api.objects import JsonObject, Resource
from shared.kube.client import ApiError, KubeClient, ListPage, WatchEvent
from shared.kube.requests import Request
from tests.support.cluster.kubectl import TRIES, UNANSWERED


class PatientClient(KubeClient):
    """Sends by `client`.

    Only once without `retry`, as tests do that count each refusal.
    """

    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def send(self, request: Request, *, retry: bool = True) -> JsonObject:
        for _ in range(TRIES - 1 if retry else 0):
            try:
                return await self._client.send(request)
            except ApiError as error:
                if not UNANSWERED.search(error.message):
                    raise
        return await self._client.send(request, retry=retry)

    def pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        page_size: int = 500,
    ) -> AsyncGenerator[ListPage, None]:
        return self._client.pages(
            resource,
            namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            metadata_only=metadata_only,
            page_size=page_size,
        )

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        seconds: float = 450.0,
    ) -> AsyncGenerator[WatchEvent, None]:
        return self._client.watch(
            resource,
            namespace,
            resource_version=resource_version,
            label_selector=label_selector,
            field_selector=field_selector,
            metadata_only=metadata_only,
            seconds=seconds,
        )

    def server_ahead(self) -> timedelta | None:
        return self._client.server_ahead()

    async def close(self) -> None:
        await self._client.close()
