"""The real `KubeClient`: builds a request, sends it, reads the answer.

Requests are built in `requests`, answers read in `responses`, what is retried is decided in
`retry` (all pure); bytes travel in `connection`. Here they are put together.
"""

import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import datetime, timedelta

from shared.api.json import JsonObject, JsonValue
from shared.clock import Clock
from shared.kube import requests, responses
from shared.kube.client import ListPage, PatchType, Propagation, WatchEvent
from shared.kube.connection import Answer, Connection, Stream, Timeouts
from shared.kube.credentials import Credentials
from shared.kube.errors import KubeError, Unreachable
from shared.kube.requests import Request
from shared.kube.resource import Resource
from shared.kube.responses import LineSplitter
from shared.kube.retry import retry_delay
from shared.kube.tokens import RenewedAuthorization

# The server ends each watch after a time in this range (seconds); it is drawn, so that watches
# opened together do not end together.
WATCH_SECONDS = (300, 600)
# A stream that outlives what was asked for by this long is cut: something in between is stuck.
WATCH_OVERTIME = 30.0


class HttpKubeClient:
    """Talks to one API server under one identity. Make it with `connect.connect`; close it.

    `user_agent` up to its first slash is the field manager of what it writes.
    """

    def __init__(
        self,
        credentials: Credentials,
        clock: Clock,
        *,
        user_agent: str,
        timeouts: Timeouts | None = None,
        pool_size: int = 64,
    ) -> None:
        self._timeouts = timeouts or Timeouts()
        self._clock = clock
        self._authorization = RenewedAuthorization(credentials.authorization, clock)
        self._connection = Connection(
            credentials, timeouts=self._timeouts, pool_size=pool_size, user_agent=user_agent
        )
        self._heard_at = float("-inf")
        self._said_at: tuple[str | None, datetime] = (None, clock.now())

    async def get(
        self, resource: Resource, namespace: str | None, name: str, *, metadata_only: bool = False
    ) -> JsonObject:
        """See `KubeClient`."""
        return await self._send(
            requests.get(resource, namespace, name, metadata_only=metadata_only)
        )

    async def list_pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        page_size: int = 500,
    ) -> AsyncGenerator[ListPage, None]:
        """See `KubeClient`."""
        token = ""
        while True:
            request = requests.list_page(
                resource,
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                metadata_only=metadata_only,
                page_size=page_size,
                continue_token=token,
            )
            page, token = responses.page_of(await self._send(request))
            yield page
            if not token:
                return

    async def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
    ) -> AsyncGenerator[WatchEvent, None]:
        """See `KubeClient`. Leave it with `aclosing`, else the connection waits for collection."""
        seconds = random.randint(*WATCH_SECONDS)
        request = requests.watch(
            resource,
            namespace,
            resource_version=resource_version,
            timeout_seconds=seconds,
            label_selector=label_selector,
            field_selector=field_selector,
            metadata_only=metadata_only,
        )
        ends_at = self._clock.monotonic() + seconds + WATCH_OVERTIME
        async with (
            self._opened(request) as stream,
            aclosing(self._events(stream, ends_at)) as events,
        ):
            async for event in events:
                yield event

    async def create(
        self, resource: Resource, namespace: str | None, body: JsonObject, *, dry_run: bool = False
    ) -> JsonObject:
        """See `KubeClient`."""
        return await self._send(requests.create(resource, namespace, body, dry_run=dry_run))

    async def update(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: JsonObject,
        *,
        subresource: str = "",
    ) -> JsonObject:
        """See `KubeClient`."""
        return await self._send(
            requests.update(resource, namespace, name, body, subresource=subresource)
        )

    async def patch(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        body: JsonValue,
        patch_type: PatchType,
        *,
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
    ) -> JsonObject:
        """See `KubeClient`."""
        request = requests.patch(
            resource,
            namespace,
            name,
            body,
            patch_type,
            subresource=subresource,
            field_manager=field_manager,
            force=force,
        )
        return await self._send(request)

    async def delete(
        self,
        resource: Resource,
        namespace: str | None,
        name: str,
        *,
        uid: str | None,
        propagation: Propagation,
        grace_period_seconds: int | None = None,
    ) -> None:
        """See `KubeClient`."""
        request = requests.delete(
            resource,
            namespace,
            name,
            uid=uid,
            propagation=propagation,
            grace_period_seconds=grace_period_seconds,
        )
        await self._send(request)

    async def post(self, path: str, body: JsonObject, *, retry: bool = True) -> JsonObject:
        """See `KubeClient`."""
        request = requests.post(path, body)
        return await (self._send(request) if retry else self._send_once(request))

    async def get_path(self, path: str) -> JsonObject:
        """See `KubeClient`."""
        return await self._send(requests.get_path(path))

    def server_ahead(self) -> timedelta | None:
        """See `KubeClient`."""
        said = responses.date_of(self._said_at[0])
        return None if said is None else said - self._said_at[1]

    async def close(self) -> None:
        """See `KubeClient`."""
        await self._connection.close()

    async def _send(self, request: Request) -> JsonObject:
        tries = 0
        while True:
            tries += 1
            try:
                return await self._send_once(request)
            except KubeError as error:
                delay = retry_delay(request, error, tries)
                if delay is None:
                    raise
            await self._clock.sleep(delay)

    async def _send_once(self, request: Request) -> JsonObject:
        authorization = await self._authorization.current()
        answer = await self._connection.send(request, authorization)
        if answer.status == 401:
            renewed = await self._renewed_or_raise(authorization, answer)
            answer = await self._connection.send(request, renewed)
        self._heard_at = self._clock.monotonic()
        # Decoded only when asked for.
        self._said_at = (answer.headers.get("Date"), self._clock.now())
        if answer.status >= 300:
            raise responses.error_of(answer.status, answer.headers, answer.body)
        return responses.object_of(answer.status, answer.body)

    @asynccontextmanager
    async def _opened(self, request: Request) -> AsyncIterator[Stream]:
        authorization = await self._authorization.current()
        async with self._connection.stream(request, authorization) as stream:
            if stream.status != 401:
                yield stream
                return
            rejection = await stream.whole()
        renewed = await self._renewed_or_raise(authorization, rejection)
        async with self._connection.stream(request, renewed) as stream:
            yield stream

    async def _renewed_or_raise(self, rejected: str | None, answer: Answer) -> str | None:
        """The credentials read once more; the 401 itself where that brings nothing new."""
        renewed = await self._authorization.after_rejection(rejected)
        if renewed == rejected:
            raise responses.error_of(answer.status, answer.headers, answer.body)
        return renewed

    async def _events(self, stream: Stream, ends_at: float) -> AsyncGenerator[WatchEvent, None]:
        if stream.status >= 300:
            answer = await stream.whole()
            raise responses.error_of(answer.status, answer.headers, answer.body)
        self._heard_at = self._clock.monotonic()
        lines = LineSplitter()
        while self._clock.monotonic() < ends_at:
            chunk = await stream.chunk(self._timeouts.silence)
            if chunk is None:
                await self._ask_whether_alive()
                continue
            self._heard_at = self._clock.monotonic()
            if not chunk:
                if lines.unfinished:
                    raise Unreachable("the watch ended in the middle of an event")
                return
            for line in lines.feed(chunk):
                yield responses.watch_event(line)

    async def _ask_whether_alive(self) -> None:
        """Raises Unreachable when a silent server does not answer on another connection either.

        TCP's keepalive finds a peer that is gone; this finds one whose kernel still answers while
        its process stands still. What was heard on any connection since counts for all watches.
        """
        if self._clock.monotonic() - self._heard_at < self._timeouts.silence:
            return
        await self._connection.send(
            requests.get_path("/version"),
            await self._authorization.current(),
            within=self._timeouts.probe,
        )
        # Any answer will do, a refusal too: it is alive.
        self._heard_at = self._clock.monotonic()
