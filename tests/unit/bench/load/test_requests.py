import asyncio
from typing import Any

import pytest

from bench.load.requests import AT_ONCE, create_all
from shared.api.objects import APPWRAPPERS, JsonObject, Resource
from shared.kube.client import Invalid
from shared.kube.http_client import HttpKubeClient


class Recorder(HttpKubeClient):
    """Notes what is created and how many creates are under way; refuses the name `bad`."""

    def __init__(self) -> None:
        self.created: list[str] = []
        self.under_way = 0
        self.most = 0

    async def create(
        self, resource: Resource, namespace: str | None, body: JsonObject, **options: Any
    ) -> JsonObject:
        assert (resource, namespace) == (APPWRAPPERS, "bench")
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        name = body["metadata"]["name"]
        if name == "bad":
            raise Invalid(422, "Invalid", "bad")
        self.created.append(name)
        return body


def documents(*names: str) -> list[JsonObject]:
    return [{"metadata": {"name": name, "namespace": "bench"}} for name in names]


async def test_each_is_created_once_so_many_at_once() -> None:
    client = Recorder()
    names = [str(number) for number in range(100, 100 + 3 * AT_ONCE)]
    latencies = await create_all(client, APPWRAPPERS, documents(*names))
    assert sorted(client.created) == names
    assert client.most == AT_ONCE
    assert len(latencies) == len(names)
    assert min(latencies) >= 0


async def test_a_refusal_ends_it() -> None:
    client = Recorder()
    with pytest.raises(Invalid):
        await create_all(client, APPWRAPPERS, documents("bad", *map(str, range(3 * AT_ONCE))))
    assert len(client.created) < 2 * AT_ONCE
