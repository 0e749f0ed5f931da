from typing import Any

import orjson
import pytest

from shared.kube.responses import DEEPEST, cut, object_of, watch_event


def nested(levels: int, inner: str = "") -> str:
    return "[" * levels + inner + "]" * levels


@pytest.mark.parametrize(
    "text", ['{"a": ["]}", "\\\\", "\\"[{"], "b": {}}', "[1, 2]", "", nested(DEEPEST)]
)
def test_shallow_json_is_unchanged(text: str) -> None:
    assert cut(text.encode()) == text.encode()


def test_json_below_the_depth_limit_is_null() -> None:
    text = f'{{"a": {nested(DEEPEST - 1, "{}, [1, [2]], 3")}, "b": 4}}'
    assert cut(text.encode()).decode() == (
        f'{{"a": {nested(DEEPEST - 1, "null, null, 3")}, "b": 4}}'
    )


@pytest.mark.parametrize("levels", [1100, 5000, 100_000])
def test_an_object_with_it_is_read_all_the_same(levels: int) -> None:
    deep = f'{{"metadata": {{"name": "a"}}, "spec": {nested(levels)}}}'
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(deep)
    found = object_of(200, deep.encode())
    assert found["metadata"] == {"name": "a"}
    event = watch_event(f'{{"type": "ADDED", "object": {deep}}}'.encode())
    assert event.object["metadata"] == {"name": "a"}
    # Whoever compares two states of it goes as deep as it is.
    again: Any = object_of(200, deep.encode())
    assert found == again


@pytest.mark.parametrize("text", ['{"a": ', '{"a": "', nested(2000)[:-1], "]" * 2000])
def test_malformed_json_stays_malformed(text: str) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(cut(text.encode()))
