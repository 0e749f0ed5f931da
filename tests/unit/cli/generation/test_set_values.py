"""--set and --set-string read what Helm's do."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.generation.parsed_values import Number, Origin, UnreadableValues, read_values
from cli.generation.set_values import apply


def plain(value: object) -> object:
    match value:
        case dict() as mapping:
            return {key: plain(each) for key, each in mapping.items()}
        case list() as items:
            return [plain(each) for each in items]
        case Number() as number:
            return int(number)
    return value


def assigned(text: str, option: str = "--set", base: str = "") -> object:
    return plain(apply(read_values(base, "f"), text, option).value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("a=b,c=d", {"a": "b", "c": "d"}),
        ("a.b.c=d", {"a": {"b": {"c": "d"}}}),
        ("a=1,b=-2,c=0", {"a": 1, "b": -2, "c": 0}),
        ("a=01,b=1.5,c=1e3", {"a": "01", "b": "1.5", "c": "1e3"}),
        ("a=true,b=False,c=null", {"a": True, "b": False, "c": None}),
        ("a=", {"a": ""}),
        ("a=b=c", {"a": "b=c"}),
        ("a={x,y,3}", {"a": ["x", "y", 3]}),
        ("a={}", {"a": []}),
        ("a={x,},b=c", {"a": ["x", ""], "b": "c"}),
        ("a[1].b=c", {"a": [None, {"b": "c"}]}),
        ("a[0][1]=c", {"a": [[None, "c"]]}),
        (r"a\.b=c\,d", {"a.b": "c,d"}),
        (r"a=c\\d", {"a": r"c\d"}),
        (r"a={x\,y}", {"a": ["x,y"]}),
    ],
)
def test_values_are_assigned_as_helm_does(text: str, expected: object) -> None:
    assert assigned(text) == expected


def test_set_string_makes_texts_of_all() -> None:
    expected = {"a": "1", "b": "true", "c": "null", "d": ["2"]}
    assert assigned("a=1,b=true,c=null,d={2}", "--set-string") == expected


def test_a_file_is_changed_where_the_path_leads() -> None:
    base = "volumes:\n- {name: a, claimName: b}\n- {name: c, claimName: d}\nkept: {x: y}\n"
    assert assigned("volumes[1].claimName=z,volumes[2].name=n,kept.w=v", base=base) == {
        "volumes": [
            {"name": "a", "claimName": "b"},
            {"name": "c", "claimName": "z"},
            {"name": "n"},
        ],
        "kept": {"x": "y", "w": "v"},
    }


def test_a_value_in_the_path_is_replaced() -> None:
    assert assigned("a.b=c,d[0]=e", base="a: 1\nd: {x: y}") == {"a": {"b": "c"}, "d": ["e"]}


def test_an_assigned_value_comes_from_the_option() -> None:
    root = apply(read_values("", "f"), "a.b=c", "--set")
    assert (root.value, root.origin(("a", "b"))) == ({"a": {"b": "c"}}, Origin("--set"))


def test_a_list_comes_from_the_option_that_set_an_element_of_it() -> None:
    root = apply(read_values("a: text\nb: {c: [x]}\n", "f"), "a[0]=x,b.c[1]=y", "--set")
    assert root.value == {"a": ["x"], "b": {"c": ["x", "y"]}}
    origins = {way: str(root.origin(way)) for way in (("a",), ("b",), ("b", "c"), ("b", "c", 0))}
    assert origins == {("a",): "--set", ("b",): "f:2", ("b", "c"): "--set", ("b", "c", 0): "f:2"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a", "a: there is no = after the key"),
        ("a,b=c", "a,b=c: there is no = after the key"),
        ("=b", "=b: a key is empty"),
        ("a..b=c", "a..b=c: a key is empty"),
        ("a.=c", "a.=c: a key is empty"),
        ("a[x]=b", "a[x]=b: the index must be a number from 0 to 65536"),
        ("a[65537]=b", "a[65537]=b: the index must be a number from 0 to 65536"),
        ("a[0=b", "a[0=b: the index must be a number from 0 to 65536"),
        ("a[0]b=c", "a[0]b=c: there is no = after the key"),
        ("a={x", "{x: the list has no } at its end"),
        ("a={x}y=z", "{x}y=z: there is no comma after the list"),
    ],
)
def test_an_option_without_assignment_is_refused(text: str, problem: str) -> None:
    with pytest.raises(UnreadableValues) as refused:
        assigned(text)
    assert str(refused.value) == (
        f"--set {problem}; write KEY=VALUE, such as numPods=4 or volumes[0].claimName=data"
    )


@given(st.text(alphabet="ab.[]={},\\0", max_size=20))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(UnreadableValues):
        assert isinstance(assigned(text), dict)
