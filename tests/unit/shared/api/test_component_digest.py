import hashlib
from copy import deepcopy
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.component_digest import component_digest
from tests.support.builders.admission import POD

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(-1e30, 1e30)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


def digest(template: Any = POD, **fields: Any) -> str:
    return component_digest({"template": template, **fields})


def test_it_is_the_same_in_every_release() -> None:
    """Stored objects carry it: another way to compute it would forget what was submitted."""
    spelled = b'{"podSets":[["template",1]],"template":{"kind":"Pod","n":1}}'
    found = digest({"n": 1.0, "kind": "Pod"}, podSets=[{"path": "template"}])
    assert found == hashlib.sha256(spelled).hexdigest()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": [{"b": None, "c": 1}]}, {"a": [{"c": 1}]}),
        ({"a": None}, {}),
        ({"a": 1.0}, {"a": 1}),
        ({"a": -0.0}, {"a": 0}),
        ({"a": [1e3, -2.0]}, {"a": [1000, -2]}),
        ({"a": "null", "b": None}, {"a": "null"}),
    ],
)
def test_equal_templates_have_equal_digests(one: Any, other: Any) -> None:
    assert digest(one) == digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": True}, {"a": 1}),
        ({"a": False}, {"a": 0}),
        ({"a": "1"}, {"a": 1}),
        ({"a": 1.5}, {"a": 1}),
        ({"a": 1e22}, {"a": 1e21}),
        ({"a": {}}, {}),
        ({"a": []}, {}),
        ({"a": [None]}, {"a": []}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": "null"}, {"a": None}),
        ({"a": "x:1.0"}, {"a": "x:1"}),
    ],
)
def test_templates_that_differ_differ(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)


def test_path_and_replicas_of_pod_sets_count() -> None:
    path = "template.spec.template"
    one = digest(podSets=[{"path": path}])
    assert one == digest(podSets=[{"path": path, "replicas": 1, "annotations": {"a": "b"}}])
    assert one == digest(podSets=[{"path": path, "replicas": None}])
    assert one == digest(podSets=[{"path": path}], podSetInfos=[{}], annotations={"a": "b"})
    assert one != digest(podSets=[{"path": path, "replicas": 2}])
    assert one != digest(podSets=[{"path": path, "replicas": True}])
    assert one != digest(podSets=[{"path": "template"}])
    assert one != digest()
    assert digest() == digest(podSets=[]) == digest(podSets=None)


@pytest.mark.parametrize("pod_sets", ["x", 7, {"a": 1}, [7], [None], [{"path": 7}], [{}]])
def test_malformed_pod_sets_have_one_of_their_own(pod_sets: Any) -> None:
    assert digest(podSets=pod_sets) != digest()


def test_without_template_there_is_still_one() -> None:
    assert component_digest({}) == component_digest({"template": None}) != digest({})


def test_a_template_of_two_hundred_levels_has_a_digest() -> None:
    deep: Any = {}
    for _ in range(200):
        deep = {"a": deep, "b": None}
    assert digest(deep) != digest({})


@given(st.floats(-(2.0**63), 2.0**64 - 2048).map(round))
def test_a_whole_number_is_the_same_however_it_is_written(number: int) -> None:
    assert digest({"a": float(number)}) == digest({"a": int(float(number))})
    assert digest([float(number)]) == digest([int(float(number))])


@given(JSON)
def test_it_neither_changes_what_it_reads_nor_minds_the_trip_through_the_api_server(
    value: Any,
) -> None:
    before = deepcopy(value)
    found = digest(value)
    assert value == before
    assert found == digest(orjson.loads(orjson.dumps(value)))
