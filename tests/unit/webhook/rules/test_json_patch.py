import copy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.rules.json_patch import RemoveField, SetField, applied, to_patch


@pytest.mark.parametrize(
    ("target", "changes", "patch"),
    [
        pytest.param({"a": 1}, [(("a",), 1)], [], id="there already"),
        pytest.param({"a": 1}, [(("a",), 2)], [("/a", 2)], id="replaced"),
        pytest.param(
            {}, [(("a", "b", "c"), 1)], [("/a", {"b": {"c": 1}})], id="parents come along"
        ),
        pytest.param(
            {"a": {}},
            [(("a", "b", "x"), 1), (("a", "b", "y"), 2)],
            [("/a/b", {"x": 1, "y": 2})],
            id="one operation for one missing parent",
        ),
        pytest.param({"a": None}, [(("a", "b"), 1)], [("/a", {"b": 1})], id="null is no object"),
        pytest.param({"a": [1]}, [(("a", "b"), 1)], [("/a", {"b": 1})], id="a list is no object"),
        pytest.param({}, [(("a/b~c",), 1)], [("/a~1b~0c", 1)], id="keys are escaped"),
        pytest.param({"a": 1}, [(("a",), 2), (("a",), 3)], [("/a", 3)], id="the last one wins"),
        pytest.param({"a": 1}, [(("a",), 2), (("a",), 1)], [], id="back to what it was"),
        pytest.param({"a": None}, [(("a",), None)], [], id="null is a value"),
        pytest.param(
            {"a": [{}, {"b": 1}]},
            [(("a", 0, "b"), 1), (("a", 1, "b"), 1), (("a", 1, "c", "d"), 2)],
            [("/a/0/b", 1), ("/a/1/c", {"d": 2})],
            id="elements of an array",
        ),
        pytest.param({}, [(("a",), None)], [("/a", None)], id="absent is not null"),
    ],
)
def test_the_fewest_operations(
    target: dict[str, Any], changes: list[Any], patch: list[tuple[str, Any]]
) -> None:
    expected = [{"op": "add", "path": path, "value": value} for path, value in patch]
    assert to_patch(target, [SetField(*change) for change in changes]) == expected


def test_a_rules_own_objects_are_not_written_to() -> None:
    value: dict[str, Any] = {"x": 1}
    changes = [SetField(("a", "b"), value), SetField(("a", "b", "y"), 2)]
    assert to_patch({}, changes) == [{"op": "add", "path": "/a", "value": {"b": {"x": 1, "y": 2}}}]
    assert value == {"x": 1}


@pytest.mark.parametrize("element", [None, [], [{"b": 1}], "x"])
def test_an_element_that_is_no_object_makes_room_for_one(element: Any) -> None:
    """Found by fuzzing: added, it would have come before the other."""
    target = {"a": [element, 2]}
    patch = to_patch(target, [SetField(("a", 0, "b"), 1)])
    assert patch == [{"op": "replace", "path": "/a/0", "value": {"b": 1}}]
    assert jsonpatch.apply_patch(target, patch) == {"a": [{"b": 1}, 2]}
    assert applied(target, patch) == {"a": [{"b": 1}, 2]}


@pytest.mark.parametrize("value", [1, 1.0, True])
def test_only_a_value_that_is_written_alike_is_there_already(value: Any) -> None:
    others = [other for other in (1, 1.0, True) if type(other) is not type(value)]
    assert to_patch({"a": value}, [SetField(("a",), value)]) == []
    for other in others:
        [operation] = to_patch({"a": value}, [SetField(("a",), other)])
        assert type(operation["value"]) is type(other)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"a": [{"b": 1}]}, [{"op": "remove", "path": "/a/0/b"}]),
        ({"a": [{"b": None}]}, [{"op": "remove", "path": "/a/0/b"}]),
        ({"a": [{}]}, []),
        ({"a": ["x"]}, []),
    ],
)
def test_a_field_is_removed_where_it_is(target: Any, expected: list[dict[str, Any]]) -> None:
    patch = to_patch(target, [RemoveField(("a", 0, "b"))])
    assert patch == expected
    assert applied(target, patch) == jsonpatch.apply_patch(target, patch)


def test_the_later_of_setting_and_removing_wins() -> None:
    path = ("a", "b")
    setting, removing = SetField(path, 2), RemoveField(path)
    assert to_patch({"a": {"b": 1}}, [setting, removing]) == [{"op": "remove", "path": "/a/b"}]
    assert to_patch({"a": {}}, [setting, removing]) == []
    assert to_patch({"a": {"b": 1}}, [removing, setting]) == [
        {"op": "add", "path": "/a/b", "value": 2}
    ]


_INTEGER = st.integers(-(2**63), 2**63 - 1)  # the decoder reads others as fractions
_KEY = st.sampled_from(["a", "b", "~/", ""])
_TARGET = st.dictionaries(
    _KEY, st.recursive(_INTEGER, lambda inner: st.dictionaries(_KEY, inner), max_leaves=5)
)
_CHANGES = st.lists(
    st.builds(SetField, st.lists(_KEY, min_size=1, max_size=3).map(tuple), _INTEGER),
    max_size=4,
    unique_by=lambda change: change.path,
)


def _prefix_free(changes: list[SetField]) -> bool:
    """Rules set leaves; none sets a field inside what another one sets."""
    paths = [change.path for change in changes]
    return not any(one != other and other[: len(one)] == one for one in paths for other in paths)


@given(_TARGET, _CHANGES.filter(_prefix_free))
def test_applied_the_patch_brings_every_change_about(
    target: dict[str, Any], changes: list[SetField]
) -> None:
    before = copy.deepcopy(target)
    patch = to_patch(target, changes)
    patched = jsonpatch.apply_patch(target, patch)
    assert applied(target, patch) == patched
    assert target == before
    for change in changes:
        value = patched
        for key in change.path:
            value = value[key]
        assert value == change.value
    assert to_patch(patched, changes) == []
