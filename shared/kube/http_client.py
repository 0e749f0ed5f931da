"""Implement `KubeClient` over HTTP.

`requests` builds requests and decides about retries, `responses` reads answers (both are pure);
`connection` moves the bytes. This module combines them.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta

from shared.api.objects import JsonObject, Resource
from shared.kube import requests, responses
from shared.kube.client import KubeClient, KubeError, ListPage, Unreachable, WatchEvent
from shared.kube.connection import (
    ApiAnswer,
    ApiConnection,
    Refused,
    Stream,
    Timeouts,
    TooLarge,
)
from shared.kube.credentials import Identity, RenewedIdentity
from shared.kube.kubeconfig import Credentials, Impersonation, load_credentials
from shared.kube.pod_channels import PodChannels
from shared.kube.requests import Request, retry_delay
from shared.kube.responses import LineSplitter
from shared.process.clock import Clock, SystemClock

# Factors of a watch's length, so that watches opened together do not end together.
WATCH_JITTER = (0.9, 1.1)

# Bytes of one page. Decoded they need up to 22 times as much memory. An object may have up to 1.5
# MB, so the number of objects that fit is unknown before the page arrives.
LARGEST_PAGE = 8 << 20

# Seconds between two signs of life to a pod. Proxies close a connection that is silent for 60 s.
PING_SECONDS = 25.0


class HttpKubeClient(KubeClient):
    """Send requests to one API server under one identity. Make it with `connect`; close it.

    The part of `user_agent` before its first slash is the field manager of writes. `namespace` is
    the kubeconfig context's or the pod's own. `on_warning` receives the server's Warning headers.
    `permit` is called directly before each request is sent; if it raises, nothing is sent.
    """

    def __init__(
        self,
        credentials: Credentials,
        clock: Clock,
        *,
        user_agent: str,
        timeouts: Timeouts | None = None,
        pool_size: int = 128,
        on_warning: Callable[[str], None] | None = None,
        permit: Callable[[Request], None] | None = None,
    ) -> None:
        self._on_warning = on_warning
        self._timeouts = timeouts or Timeouts()
        self._clock = clock
        self.namespace = credentials.namespace
        self._identity = RenewedIdentity(credentials.authorization, credentials.tls, clock)
        self._connection = ApiConnection(
            credentials,
            timeouts=self._timeouts,
            pool_size=pool_size,
            user_agent=user_agent,
            permit=permit,
        )
        self._dated_at: tuple[str | None, datetime] = (None, clock.now())

    async def send(self, request: Request, *, retry: bool = True) -> JsonObject:
        answer = await self._answer(request, retry=retry)
        return responses.object_of(answer.status, answer.body)

    async def pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        metadata_only: bool = False,
        page_size: int = 500,
    ) -> AsyncGenerator[ListPage, None]:
        """Yield pages as `KubeClient` describes; pages of large objects hold fewer of them."""
        token, limit = "", page_size
        while True:
            request = requests.list_page(
                resource,
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                metadata_only=metadata_only,
                page_size=limit,
                continue_token=token,
            )
            try:
                answer = await self._answer(request, largest=LARGEST_PAGE if limit > 1 else None)
            except TooLarge:
                limit = max(1, limit // 8)
                continue
            page, token = responses.page_of(responses.object_of(answer.status, answer.body))
            limit = _fitting(page, len(answer.body), page_size)
            del answer  # two pages are never in memory together
            yield page
            del page
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
        seconds: float = 450.0,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Yield changes as `KubeClient` describes.

        Leave it with `aclosing`: otherwise the connection stays open until garbage collection.
        """
        asked = max(1, round(seconds * random.uniform(*WATCH_JITTER)))
        request = requests.watch(
            resource,
            namespace,
            resource_version=resource_version,
            timeout_seconds=asked,
            label_selector=label_selector,
            field_selector=field_selector,
            metadata_only=metadata_only,
        )
        ends_at = self._clock.monotonic() + asked + self._timeouts.overtime
        async with (
            self._opened(request, self._timeouts.request) as stream,
            aclosing(self._events(stream, ends_at)) as events,
        ):
            async for event in events:
                yield event
                del event  # the next event may take long

    async def chunks(
        self, request: Request, *, seconds: float | None = None
    ) -> AsyncGenerator[bytes, None]:
        async with self._opened(request, seconds) as stream:
            await _raise_for(stream)
            while chunk := await stream.chunk():
                yield chunk

    @asynccontextmanager
    async def channels(
        self, request: Request, protocols: Sequence[str]
    ) -> AsyncIterator[PodChannels]:
        async with AsyncExitStack() as stack:
            opened = await self._channels(stack, request, protocols)
            pings = asyncio.create_task(self._ping(opened))
            stack.callback(pings.cancel)
            yield opened

    def server_ahead(self) -> timedelta | None:
        server = responses.date_of(self._dated_at[0])
        return None if server is None else server - self._dated_at[1]

    async def close(self) -> None:
        await self._connection.close()

    async def _answer(
        self, request: Request, *, retry: bool = True, largest: int | None = None
    ) -> ApiAnswer:
        """Return a successful answer, after retries if necessary. Raise TooLarge."""
        tries = 0
        while True:
            tries += 1
            try:
                return await self._answer_once(request, largest)
            except KubeError as error:
                delay = retry_delay(request, error, tries) if retry else None
                if delay is None:
                    raise
            await self._clock.sleep(delay)

    async def _answer_once(self, request: Request, largest: int | None) -> ApiAnswer:
        identity = await self._identity.current()
        sent = self._clock.monotonic()
        answer = await self._connection.send(request, identity, largest=largest)
        if answer.status == 401:
            renewed = await self._renewed_or_raise(identity, answer)
            answer = await self._connection.send(request, renewed, largest=largest)
        # `server_ahead` decodes the header when it is called.
        self._dated_at = (answer.headers.get("Date"), self._clock.now())
        rejected = answer.status == 429
        if self.on_answer is not None and (largest is None or rejected):
            self.on_answer(self._clock.monotonic() - sent, rejected)
        if self._on_warning is not None:
            for warning in responses.warnings_of(answer.headers):
                self._on_warning(warning)
        if answer.status >= 300:
            raise responses.error_of(answer.status, answer.headers, answer.body)
        return answer

    @asynccontextmanager
    async def _opened(self, request: Request, seconds: float | None) -> AsyncIterator[Stream]:
        identity = await self._identity.current()
        async with self._connection.stream(request, identity, seconds) as stream:
            if stream.status != 401:
                yield stream
                return
            rejection = await stream.whole()
        renewed = await self._renewed_or_raise(identity, rejection)
        async with self._connection.stream(request, renewed, seconds) as stream:
            yield stream

    async def _channels(
        self, stack: AsyncExitStack, request: Request, protocols: Sequence[str]
    ) -> PodChannels:
        identity, renewed = await self._identity.current(), False
        while True:
            try:
                return await stack.enter_async_context(
                    self._connection.channels(request, identity, protocols)
                )
            except Refused as refused:
                answer = refused.answer
            if answer.status != 401 or renewed:
                raise responses.error_of(answer.status, answer.headers, answer.body)
            identity, renewed = await self._renewed_or_raise(identity, answer), True

    async def _ping(self, opened: PodChannels) -> None:
        with suppress(Unreachable):  # the caller finds the same by its own means
            while True:
                await self._clock.sleep(PING_SECONDS)
                await opened.ping()

    async def _renewed_or_raise(self, rejected: Identity, answer: ApiAnswer) -> Identity:
        """Return the credentials, read again; raise the 401 if they did not change."""
        renewed = await self._identity.after_rejection(rejected)
        if renewed == rejected:
            raise responses.error_of(answer.status, answer.headers, answer.body)
        return renewed

    async def _events(self, stream: Stream, ends_at: float) -> AsyncGenerator[WatchEvent, None]:
        await _raise_for(stream)
        lines = LineSplitter()
        while chunk := await self._chunk_before(ends_at, stream):
            for line in lines.feed(chunk):
                yield responses.watch_event(line)
        if lines.unfinished:
            raise Unreachable("the watch ended in the middle of an event")

    async def _chunk_before(self, ends_at: float, stream: Stream) -> bytes:
        """Return the next bytes. Raise Unreachable if the watch lasts longer than `ends_at`.

        A silent watch shows its health only by ending in time: only the server itself ends it. TCP
        keepalive proves less, because any kernel or proxy on the way answers it. Other connections
        prove nothing about this one.
        """
        try:
            async with self._clock.timeout(max(0.0, ends_at - self._clock.monotonic())):
                return await stream.chunk()
        except TimeoutError as error:
            raise Unreachable("the watch did not end when it should have") from error


async def _raise_for(stream: Stream) -> None:
    """Raise the error that the stream has instead of its contents."""
    if stream.status >= 300:
        answer = await stream.whole()
        raise responses.error_of(answer.status, answer.headers, answer.body)


def _fitting(page: ListPage, size: int, page_size: int) -> int:
    """Return the next page's number of objects: it must fit even if they are twice as large."""
    if not page.items:
        return page_size
    return max(1, min(page_size, LARGEST_PAGE * len(page.items) // (2 * size)))


async def connect(
    kubeconfig: str | None = None,
    *,
    user_agent: str = "appwrapper-operator/0.1",
    context: str | None = None,
    impersonation: Impersonation | None = None,
    on_warning: Callable[[str], None] | None = None,
    timeouts: Timeouts | None = None,
    permit: Callable[[Request], None] | None = None,
) -> HttpKubeClient:
    """Return a client with the identity that `load_credentials` finds. The caller closes it.

    Send no request yet: the server need not be up. Raise CannotConnect.
    """
    # In a thread: the call reads files and may start a program.
    credentials = await asyncio.to_thread(load_credentials, kubeconfig, context=context)
    credentials = replace(credentials, impersonation=impersonation)
    return HttpKubeClient(
        credentials,
        SystemClock(),
        user_agent=user_agent,
        on_warning=on_warning,
        timeouts=timeouts,
        permit=permit,
    )
