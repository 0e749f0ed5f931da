import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.duplicate_keys import first_duplicate_key, has_duplicate_keys


def lost(text: bytes) -> bool:
    return has_duplicate_keys(text, orjson.dumps(orjson.loads(text)))


@pytest.mark.parametrize(
    ("text", "way"),
    [
        (b'{"a":1,"a":1}', ("a",)),
        (b'{"a":1,"b":{"c":[0,{"d":1,"d":2}]}}', ("b", "c", 1, "d")),
        (b'[[],[[]],{"a":{"b":1},"c":{"b":1,"b":1}}]', (2, "c", "b")),
        (b'{"a":{"x":1},"a":{}}', ("a",)),
        (b' { "a" : 1 , "a" : 2 } \n', ("a",)),
        (b'{"a":1,"\\u0061":1}', ("a",)),
        (b'{"&":1,"\\u0026":1}', ("&",)),
        (b'{"\\"":1,"\\"":1}', ('"',)),
        (b'{"\\\\":1,"\\u005c":1}', ("\\",)),
        ('{"ü":1,"\\u00fc":1}'.encode(), ("ü",)),
        (b'{"":1,"":1}', ("",)),
        # As long as its own encoding: the exponent grows by what the key takes.
        (b'{"a":1,"a":10,"n":1e5}', ("a",)),
    ],
)
def test_a_key_that_stands_twice_is_found(text: bytes, way: tuple[str | int, ...]) -> None:
    assert lost(text)
    assert first_duplicate_key(text) == way


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b"[]",
        b'"a"',
        b'{"a":1}\n',
        b'{ "a" : 1, "b" : [ { "a" : 1 }, { "a" : 1 } ] }',
        b'{"a":"\\"a\\":1,\\"a\\":2"}',
        b'{"run":"x \\u0026\\u0026 y \\u003c z \\u003e /dev/null"}',
        b'{"a":"\\\\u0026:","b":"\\\\\\u0026"}',
        b'{"a":1.50,"b":1e5,"c":-0,"d":123456789012345678901234567890}',
        b'{"a":"\\/","b":"\\u2028:"}',
    ],
)
def test_a_text_without_is_let_through(text: bytes) -> None:
    assert not lost(text)
    assert first_duplicate_key(text) == ()


def test_the_way_to_a_key_is_not_searched_for_ever() -> None:
    near = b"[" + b"0," * 99_990 + b'{"a":1,"a":1}]'
    far = b"[" + b"0," * 100_000 + b'{"a":1,"a":1}]'
    assert lost(near)
    assert first_duplicate_key(near) == (99_990, "a")
    assert lost(far)
    assert first_duplicate_key(far) == ()


_TEXTS = st.text(st.sampled_from('a:"\\&,{}[] \u00fc<\n\x01'), max_size=3)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.lists(st.tuples(_TEXTS, inner), max_size=3),
    max_leaves=12,
)


def _written(value: Any, blank: str, *, ascii_only: bool) -> str:
    """JSON in which a list of pairs is an object, with every pair, whatever the keys."""
    if isinstance(value, list) and value and all(isinstance(each, tuple) for each in value):
        members = (
            f"{_written(key, blank, ascii_only=ascii_only)}{blank}:"
            f"{_written(inner, blank, ascii_only=ascii_only)}"
            for key, inner in value
        )
        return "{" + f"{blank},".join(members) + "}"
    if isinstance(value, list):
        return (
            "[" + f",{blank}".join(_written(e, blank, ascii_only=ascii_only) for e in value) + "]"
        )
    return json.dumps(value, ensure_ascii=ascii_only)


def _repeats(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    if value and all(isinstance(each, tuple) for each in value):
        keys = [key for key, _ in value]
        return len(set(keys)) < len(keys) or any(_repeats(inner) for _, inner in value)
    return any(_repeats(each) for each in value)


@given(_VALUES, st.sampled_from(["", " ", "\n\t"]), st.booleans())
def test_exactly_the_texts_that_repeat_a_key_are_found(
    value: Any, blank: str, ascii_only: bool
) -> None:
    text = _written(value, blank, ascii_only=ascii_only).encode()
    assert lost(text) == _repeats(value)
    assert (first_duplicate_key(text) != ()) == _repeats(value)
