"""The real client against a server on loopback: what must hold of any client we would use."""

import asyncio
import ssl
from datetime import timedelta
from email.utils import format_datetime

import pytest
from aiohttp import web

from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from shared.kube.client import (
    ApiError,
    Forbidden,
    Gone,
    ListPage,
    PatchType,
    Propagation,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from shared.kube.connection import Timeouts
from shared.kube.credentials import FixedCredential
from shared.kube.http_client import LARGEST_PAGE, HttpKubeClient
from shared.kube.kubeconfig import Credentials
from shared.kube.requests import Request
from tests.support.fakes.api_server import (
    Handler,
    broken_answer,
    json_answer,
    raw_answer,
    status_answer,
    stream_answer,
)
from tests.support.fakes.client_session import Session, Tokens, opened
from tests.support.fakes.fake_clock import ImpatientClock

FORBIDDEN = status_answer(403, "Forbidden", "no")
UNAUTHORIZED = status_answer(401, "Unauthorized", "who are you")


async def test_get() -> None:
    async with opened() as session:
        session.server.then(json_answer({"kind": "Pod"}))
        assert await session.client.get(PODS, "ns", "p") == {"kind": "Pod"}
        assert session.sent == ["GET /api/v1/namespaces/ns/pods/p"]
        assert session.server.received[0].headers["User-Agent"] == "test/1"
        assert "Authorization" not in session.server.received[0].headers


async def test_the_built_request_is_sent() -> None:
    async with opened() as session:
        session.server.then(*[json_answer({})] * 6)
        client = session.client
        await client.create(PODS, "ns", {"a": 1}, dry_run=True)
        await client.update(APPWRAPPERS, "ns", "a", {"b": 1}, subresource="status")
        await client.patch(
            PODS, "ns", "p", {"c": 1}, PatchType.APPLY, field_manager="me", force=True
        )
        await client.post("/apis/x/v1/reviews", {"d": 1})
        await client.get_path("/version")
        await client.get(PODS, "ns", "p", metadata_only=True)
        wrappers = "/apis/workload.codeflare.dev/v1beta2/namespaces/ns/appwrappers"
        assert [(r.method, r.target, r.body) for r in session.server.received] == [
            ("POST", "/api/v1/namespaces/ns/pods?dryRun=All", b'{"a":1}'),
            ("PUT", f"{wrappers}/a/status", b'{"b":1}'),
            ("PATCH", "/api/v1/namespaces/ns/pods/p?fieldManager=me&force=true", b'{"c":1}'),
            ("POST", "/apis/x/v1/reviews", b'{"d":1}'),
            ("GET", "/version", b""),
            ("GET", "/api/v1/namespaces/ns/pods/p", b""),
        ]
        types = [r.headers.get("Content-Type") for r in session.server.received]
        assert types[:3] == [
            "application/json",
            "application/json",
            "application/apply-patch+yaml",
        ]
        assert session.server.received[5].headers["Accept"].endswith("g=meta.k8s.io;v=v1")


class Permits:
    """Refuses the requests whose number is in `refused`, and notes the method of each."""

    def __init__(self, *refused: int) -> None:
        self.asked: list[str] = []
        self._refused = refused

    def __call__(self, request: Request) -> None:
        self.asked.append(request.method)
        if len(self.asked) in self._refused:
            raise Unreachable("not permitted")


async def test_a_request_without_a_permit_is_not_sent_on_a_new_or_an_old_connection() -> None:
    permits = Permits(1, 3)
    async with opened(permit=permits) as session:
        session.server.then(*[json_answer({})] * 2)
        client = session.client
        with pytest.raises(Unreachable, match=r"^not permitted$"):
            await client.create(PODS, "ns", {"a": 1})
        await client.create(PODS, "ns", {"a": 2})
        with pytest.raises(Unreachable, match=r"^not permitted$"):
            await client.create(PODS, "ns", {"a": 3})
        await client.create(PODS, "ns", {"a": 4})
        assert [received.body for received in session.server.received] == [b'{"a":2}', b'{"a":4}']
        assert permits.asked == ["POST"] * 4


async def test_each_retry_needs_a_permit() -> None:
    permits = Permits(2)
    async with opened(permit=permits) as session:
        session.server.then(status_answer(429, "TooManyRequests", "wait", {"Retry-After": "1"}))
        with pytest.raises(Unreachable, match=r"^not permitted$"):
            await session.client.create(PODS, "ns", {"a": 1})
        assert len(session.server.received) == 1


async def test_a_request_with_renewed_credentials_needs_another_permit() -> None:
    permits = Permits(2)
    async with opened(Tokens("Bearer old", "Bearer new"), permit=permits) as session:
        session.server.then(UNAUTHORIZED)
        with pytest.raises(Unreachable, match=r"^not permitted$"):
            await session.client.create(PODS, "ns", {"a": 1})
        assert len(session.server.received) == 1


async def test_delete_with_grace_0_sends_0() -> None:
    async with opened() as session:
        session.server.then(json_answer({"kind": "Status", "status": "Success"}))
        await session.client.delete(
            PODS, "ns", "p", uid="u", propagation=Propagation.FOREGROUND, grace_period_seconds=0
        )
        assert session.server.received[0].json == {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Foreground",
            "preconditions": {"uid": "u"},
            "gracePeriodSeconds": 0,
        }


async def test_403_is_not_retried() -> None:
    async with opened(Tokens("Bearer a", "Bearer b")) as session:
        session.server.then(FORBIDDEN)
        with pytest.raises(Forbidden) as raised:
            await session.client.get(PODS, "ns", "p")
        assert raised.value == Forbidden(403, "Forbidden", "no")
        assert session.sent == ["GET /api/v1/namespaces/ns/pods/p"]
        assert session.clock.slept == []


async def test_a_read_without_an_answer_is_retried_a_few_times() -> None:
    async with opened() as session:
        session.server.then(broken_answer(), broken_answer(), json_answer({"a": 1}))
        assert await session.client.get(PODS, "ns", "p") == {"a": 1}
        assert session.clock.slept == [0.2, 1.0]


async def test_a_read_that_never_gets_an_answer_is_unreachable() -> None:
    async with opened() as session:
        session.server.then(*[broken_answer()] * 3)
        with pytest.raises(Unreachable, match="GET /api/v1/namespaces/ns/pods/p: ") as raised:
            await session.client.get(PODS, "ns", "p")
        assert raised.value.__cause__ is not None
        assert len(session.sent) == 3


async def test_an_api_server_that_is_not_there_is_named_by_its_address() -> None:
    tls = FixedCredential(ssl.create_default_context())
    credentials = Credentials("https://127.0.0.1:1", tls, FixedCredential(None))
    client = HttpKubeClient(credentials, ImpatientClock(), user_agent="test/1")
    try:
        with pytest.raises(Unreachable) as raised:
            await client.get(PODS, "ns", "p")
    finally:
        await client.close()
    assert str(raised.value) == (
        "GET /api/v1/namespaces/ns/pods/p: cannot connect to 127.0.0.1:1: Connect call failed"
        " ('127.0.0.1', 1)"
    )


async def test_a_write_without_an_answer_is_sent_once() -> None:
    async with opened() as session:
        session.server.then(broken_answer(), broken_answer())
        with pytest.raises(Unreachable):
            await session.client.create(PODS, "ns", {})
        with pytest.raises(Unreachable):
            await session.client.update(PODS, "ns", "p", {})
        assert session.sent == [
            "POST /api/v1/namespaces/ns/pods",
            "PUT /api/v1/namespaces/ns/pods/p",
        ]
        assert session.clock.slept == []


async def test_a_busy_server_is_obeyed() -> None:
    busy = status_answer(429, "TooManyRequests", "later", {"Retry-After": "3"})
    async with opened() as session:
        session.server.then(busy, busy, json_answer({"a": 1}))
        assert await session.client.create(PODS, "ns", {}) == {"a": 1}
        assert session.clock.slept == [3.0, 3.0]


async def test_a_server_that_stays_busy_is_reported() -> None:
    busy = status_answer(429, "TooManyRequests", "later", {"Retry-After": "3"})
    async with opened() as session:
        session.server.then(*[busy] * 5)
        with pytest.raises(TooManyRequests) as raised:
            await session.client.create(PODS, "ns", {})
        assert raised.value == TooManyRequests(429, "TooManyRequests", "later", 3.0)
        assert session.clock.slept == [3.0] * 4


async def test_who_has_no_time_to_be_put_off_hears_of_it_at_once() -> None:
    busy = status_answer(429, "TooManyRequests", "later", {"Retry-After": "3"})
    async with opened() as session:
        session.server.then(busy)
        with pytest.raises(TooManyRequests) as raised:
            await session.client.post("/apis/x/v1/reviews", {}, retry=False)
        assert raised.value.retry_after == 3.0


async def test_after_401_the_credentials_are_read_once_more() -> None:
    tokens = Tokens("Bearer old", "Bearer new")
    async with opened(tokens) as session:
        session.server.then(UNAUTHORIZED, json_answer({"a": 1}))
        assert await session.client.create(PODS, "ns", {}) == {"a": 1}
        sent = [r.headers["Authorization"] for r in session.server.received]
        assert sent == ["Bearer old", "Bearer new"]
        assert tokens.rejected == [False, True]


async def test_401_with_new_credentials_too_is_unauthorized() -> None:
    async with opened(Tokens("Bearer old", "Bearer new")) as session:
        session.server.then(UNAUTHORIZED, UNAUTHORIZED)
        with pytest.raises(Unauthorized) as raised:
            await session.client.get(PODS, "ns", "p")
        assert raised.value == Unauthorized(401, "Unauthorized", "who are you")
        assert len(session.sent) == 2


async def test_401_is_final_when_reading_again_brings_nothing_new() -> None:
    async with opened(Tokens("Bearer only")) as session:
        session.server.then(UNAUTHORIZED)
        with pytest.raises(Unauthorized):
            await session.client.get(PODS, "ns", "p")
        assert len(session.sent) == 1


async def test_a_proxy_s_error_page_is_not_shown() -> None:
    async with opened() as session:
        session.server.then(raw_answer(502, "<html>Password123</html>"))
        with pytest.raises(ApiError) as raised:
            await session.client.get(PODS, "ns", "p")
        assert "Password123" not in str(raised.value)
        assert raised.value.status == 502


async def test_a_redirect_is_not_followed() -> None:
    async with opened() as session:
        session.server.then(json_answer({}, 302, {"Location": "/elsewhere"}))
        with pytest.raises(ApiError) as raised:
            await session.client.get(PODS, "ns", "p")
        assert raised.value.status == 302
        assert len(session.sent) == 1


async def test_the_time_for_a_request_is_bounded() -> None:
    forever = stream_answer(b"{", until=asyncio.get_running_loop().create_future())
    async with opened(timeouts=Timeouts(request=0.05)) as session:
        session.server.then(forever)
        with pytest.raises(Unreachable, match="POST /api/v1/namespaces/ns/pods: no answer in time"):
            await session.client.create(PODS, "ns", {})


def page(version: str, token: str, *names: str) -> object:
    return {
        "metadata": {"resourceVersion": version, "continue": token},
        "items": [{"metadata": {"name": name}} for name in names],
    }


async def test_a_list_comes_page_by_page() -> None:
    async with opened() as session:
        session.server.then(
            json_answer(page("7", "t=1", "a", "b")), json_answer(page("7", "", "c"))
        )
        pages = [p async for p in session.client.pages(PODS, page_size=2)]
        assert pages == [
            ListPage([{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}], "7"),
            ListPage([{"metadata": {"name": "c"}}], "7"),
        ]
        assert session.sent == [
            "GET /api/v1/pods?limit=2",
            "GET /api/v1/pods?limit=2&continue=t%3D1",
        ]


async def test_the_latency_of_each_answer_is_reported_without_the_waits_between() -> None:
    """A list's latency depends on its length, so only its rejection is reported."""
    busy = status_answer(429, "TooManyRequests", "later", {"Retry-After": "3"})
    found: list[tuple[float, bool]] = []
    async with opened() as session:

        def after(seconds: float, answer: Handler) -> Handler:
            async def late(request: web.BaseRequest) -> web.StreamResponse:
                session.clock.pass_by(seconds)
                return await answer(request)

            return late

        session.client.on_answer = lambda *answer: found.append(answer)
        answers = [busy, broken_answer(), json_answer({}), FORBIDDEN, busy]
        answers.append(json_answer(page("7", "")))
        session.server.then(*map(after, [0.5, 1.0, 2.0, 4.0, 8.0, 16.0], answers))
        await session.client.get(PODS, "ns", "p")
        with pytest.raises(Forbidden):
            await session.client.get(PODS, "ns", "p")
        assert [each async for each in session.client.pages(PODS)] == [ListPage([], "7")]
    assert found == [(0.5, True), (2.0, False), (4.0, False), (8.0, True)]


def large(size: int, token: str, *names: str) -> JsonObject:
    """A page of so many bytes, a little more."""
    items = [{"metadata": {"name": name}, "data": "x" * (size // len(names))} for name in names]
    return {"metadata": {"resourceVersion": "7", "continue": token}, "items": items}


async def listed(session: Session, page_size: int) -> tuple[list[str], list[str]]:
    """The names, and what each page was asked to begin with and to hold."""
    names = [
        item["metadata"]["name"]
        async for page in session.client.pages(PODS, page_size=page_size)
        for item in page.items
    ]
    return names, [each.removeprefix("GET /api/v1/pods?limit=") for each in session.sent]


async def test_a_page_too_large_to_be_decoded_is_asked_for_again_in_parts() -> None:
    """Where it is seen only once it comes; nothing of it is lost, nor told twice."""
    async with opened() as session:
        session.server.then(
            json_answer(page("7", "t", "a")),
            json_answer(large(LARGEST_PAGE, "u", "b", "c")),
            json_answer(large(1_000_000, "u", "b")),
            json_answer(large(2_000_000, "", "c", "d")),
        )
        assert await listed(session, 20) == (
            ["a", "b", "c", "d"],
            ["20", "20&continue=t", "2&continue=t", "4&continue=u"],
        )


async def test_pages_grow_again_where_objects_are_small() -> None:
    async with opened() as session:
        session.server.then(
            json_answer(large(LARGEST_PAGE, "t", "a")),
            json_answer(large(4_000_000, "t", "a")),
            json_answer(page("7", "u", "b")),
            json_answer(page("7", "v")),
            json_answer(page("7", "", "c")),
        )
        assert await listed(session, 500) == (
            ["a", "b", "c"],
            ["500", "62", "1&continue=t", "500&continue=u", "500&continue=v"],
        )


async def test_one_object_alone_is_read_whatever_its_size() -> None:
    async with opened() as session:
        session.server.then(json_answer(large(LARGEST_PAGE, "", "a")))
        assert await listed(session, 1) == (["a"], ["1"])


async def test_a_list_that_expires_midway_is_gone() -> None:
    async with opened() as session:
        session.server.then(json_answer(page("7", "t", "a")), status_answer(410, "Expired", "old"))
        pages = session.client.pages(PODS)
        assert (await anext(pages)).items == [{"metadata": {"name": "a"}}]
        with pytest.raises(Gone) as raised:
            await anext(pages)
        assert raised.value == Gone(410, "Expired", "old")


async def test_how_far_the_servers_clock_is_ahead() -> None:
    async with opened() as session:
        assert session.client.server_ahead() is None
        moment = session.clock.now() + timedelta(minutes=10)
        dates = [format_datetime(moment, usegmt=True), "yesterday"]
        answers = (json_answer({}, headers={"Date": date}) for date in dates)
        session.server.then(*answers)
        await session.client.get_path("/version")
        assert session.client.server_ahead() == timedelta(minutes=10)
        session.clock.pass_by(5)
        assert session.client.server_ahead() == timedelta(minutes=10)
        await session.client.get_path("/version")
        assert session.client.server_ahead() is None
