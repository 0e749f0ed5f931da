import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.json_equality import first_difference


@pytest.mark.parametrize(
    ("left", "right", "place"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, None),
        (1, 1.0, None),
        ({"a": [1, 2]}, {"a": [1.0, 2]}, None),
        (True, 1, ""),
        ({"a": {"b": False}}, {"a": {"b": 0}}, ".a.b"),
        ({"a": [0, True]}, {"a": [0, 1]}, ".a[1]"),
        (None, False, ""),
        ("1", 1, ""),
        ({}, [], ""),
        ({"a": None}, {}, ".a"),
        ([1], [1, 2], ""),
        ({"a": 1, "b": {"c": 1}}, {"a": 2, "b": {"c": 2}}, ".a"),
        ({"b": 1}, {"c": 1}, ".b"),
    ],
)
def test_json_values_are_compared_as_json(left: Any, right: Any, place: str | None) -> None:
    assert first_difference(left, right) == place


def test_depth_has_no_limit() -> None:
    def nested(leaf: int) -> Any:
        value: Any = leaf
        for _ in range(2000):
            value = {"a": value}
        return value

    assert first_difference(nested(1), nested(1)) is None
    assert first_difference(nested(1), nested(2)) == ".a" * 2000


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=10,
)


@given(_JSON)
def test_a_value_equals_its_copy(value: Any) -> None:
    assert first_difference(value, copy.deepcopy(value)) is None


@given(_JSON, _JSON)
def test_equality_does_not_depend_on_the_side(left: Any, right: Any) -> None:
    assert (first_difference(left, right) is None) == (first_difference(right, left) is None)
