import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from shared.kube.client import ApiError, Forbidden, KubeError, ListPage, Unreachable
from tests.support.fakes.fake_clock import FakeClock, fake_sources
from tests.support.fakes.fake_kube import FakeKube, kube_object, listed
from webhook.gather.priority_classes import PriorityClasses
from webhook.rules.submission import CannotGather


async def test_a_live_list_has_all_pages() -> None:
    pages = [listed(7, kube_object("a", 1, namespace="")), listed(7, kube_object("b", 2))]
    client = FakeKube(lists=[pages])
    known = PriorityClasses(client, fake_sources())
    assert (await known.live(), known.cached()) == (frozenset({"a", "b"}), frozenset[str]())
    [asked] = client.called("pages")
    assert (asked.args[0].plural, asked.kwargs) == ("priorityclasses", {"metadata_only": True})


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (Unreachable("connection refused"), "connection refused"),
        (ApiError(500, "InternalError", "etcd is away"), "500 InternalError: etcd is away"),
        (Forbidden(403, "Forbidden", "no"), "403 Forbidden: no"),
    ],
)
async def test_a_failed_list_is_an_error(error: KubeError, text: str) -> None:
    with pytest.raises(CannotGather) as raised:
        await PriorityClasses(FakeKube(lists=[error]), fake_sources()).live()
    assert str(raised.value) == f"the priority classes could not be read: {text}"


class Silent:
    """An API server that never answers."""

    async def pages(self, *_: Any, **__: Any) -> AsyncGenerator[ListPage, None]:
        await asyncio.Event().wait()
        yield listed(1)


async def test_a_live_list_may_take_one_second() -> None:
    clock = FakeClock()
    silent: Any = Silent()
    asking = asyncio.create_task(PriorityClasses(silent, fake_sources(clock)).live())
    await clock.advance(0.9)
    assert not asking.done()
    await clock.advance(0.1)
    assert isinstance(asking.exception(), CannotGather)
    text = "the priority classes could not be read: no answer within 1 s"
    assert str(asking.exception()) == text
