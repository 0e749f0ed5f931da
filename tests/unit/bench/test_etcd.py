import base64
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from bench.etcd import Etcd


class Gateway:
    """Notes each call, and answers all with `answer`."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.calls: list[tuple[str, Mapping[str, str]]] = []
        self._answer = answer

    def post(self, path: str, *, json: Mapping[str, str]) -> Any:
        self.calls.append((path, {key: decoded(value) for key, value in json.items()}))
        return self

    async def __aenter__(self) -> Any:
        async def body() -> Mapping[str, Any]:
            return self._answer

        return SimpleNamespace(raise_for_status=lambda: None, json=body)

    async def __aexit__(self, *_: object) -> None:
        """Nothing was opened."""


def decoded(text: str) -> str:
    return base64.b64decode(text).decode()


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def etcd(gateway: Any) -> Etcd:
    return Etcd(gateway)


async def test_a_prefix_is_read_as_the_range_up_to_the_next_string() -> None:
    gateway = Gateway({"kvs": [{"key": encoded("/a/b1"), "value": encoded("x")}]})
    assert await etcd(gateway).stored("/a/b") == {"/a/b1": b"x"}
    assert gateway.calls == [("/v3/kv/range", {"key": "/a/b", "range_end": "/a/c"})]


async def test_nothing_is_below_an_unknown_prefix() -> None:
    assert await etcd(Gateway({})).stored("/a/b") == {}


async def test_keys_are_stored_and_deleted() -> None:
    gateway = Gateway({})
    await etcd(gateway).put("/a/b1", b"x")
    await etcd(gateway).delete("/a/b")
    assert gateway.calls == [
        ("/v3/kv/put", {"key": "/a/b1", "value": "x"}),
        ("/v3/kv/deleterange", {"key": "/a/b", "range_end": "/a/c"}),
    ]
