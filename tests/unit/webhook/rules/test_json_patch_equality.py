import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.rules.json_patch import first_difference, is_identical


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
        ({"a": None}, {}, None),
        ({}, {"a": {"b": None}}, ".a"),
        ({"a": {}}, {"a": {"b": None}}, None),
        ([None], [], ""),
        ([None], [0], "[0]"),
        ({"a": 1}, {"a": None}, ".a"),
        ([1], [1, 2], ""),
        ({"a": 1, "b": {"c": 1}}, {"a": 2, "b": {"c": 2}}, ".a"),
        pytest.param({"b": 1}, {"c": 1}, ".c", id="what is new is told before what is gone"),
        ({"a": 1, "b": 2}, {"b": 3}, ".b"),
        ({"a": [1, 2], "b": 2}, {"a": [1], "b": 3}, ".b"),
        ({"a": {"b": [{"c": 1}]}}, {"a": {"b": [{}]}}, ".a.b[0].c"),
    ],
)
def test_json_values_are_compared_as_json(left: Any, right: Any, place: str | None) -> None:
    assert first_difference(left, right) == place


def test_values_of_the_deepest_accepted_review_are_compared() -> None:
    def nested(leaf: float) -> Any:
        value: Any = leaf
        for _ in range(250):
            value = {"a": value}
        return value

    assert first_difference(nested(1), nested(1)) is None
    assert first_difference(nested(1), nested(2)) == ".a" * 250
    assert is_identical(nested(1), nested(1))
    assert not is_identical(nested(1), nested(1.0))


@pytest.mark.parametrize(
    ("left", "right", "identical"),
    [
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}, True),
        (1, 1.0, False),
        (1, True, False),
        ({"a": None}, {}, False),
        pytest.param([1, 2], [2, 1], False, id="the order of elements matters"),
    ],
)
def test_identical_values_are_written_alike(left: Any, right: Any, identical: bool) -> None:
    assert is_identical(left, right) is identical


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


@given(_JSON, _JSON)
def test_identical_values_do_not_differ(left: Any, right: Any) -> None:
    if is_identical(left, right):
        assert first_difference(left, right) is None
