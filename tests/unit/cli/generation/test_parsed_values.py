"""Values files: YAML 1.2 with lines, merged as Helm merges."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.generation.parsed_values import (
    Number,
    Origin,
    UnreadableValues,
    merge,
    read_values,
)


def plain(value: object) -> object:
    """Numbers stay distinct from texts."""
    match value:
        case dict() as mapping:
            return {key: plain(each) for key, each in mapping.items()}
        case list() as items:
            return [plain(each) for each in items]
        case Number() as number:
            return ("number", str(number))
    return value


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1", ("number", "1")),
        ("0.50", ("number", "0.50")),
        ("1e6", ("number", "1e6")),
        ('"1"', "1"),
        ("12:30", "12:30"),
        ("2026-01-02", "2026-01-02"),
        ("yes", "yes"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("[a, {b: 1}]", ["a", {"b": ("number", "1")}]),
        ("|\n  a\n    b\n", "a\n  b\n"),
        (r'"\ud83d\ude00"', "😀"),
    ],
)
def test_scalars_are_those_of_yaml_1_2_and_numbers_stay_as_written(
    written: str, value: object
) -> None:
    assert plain(read_values(f"key: {written}", "f").value) == {"key": value}


def test_every_value_knows_its_line() -> None:
    root = read_values("a: 1\nb:\n- x\n- c: 2\n", "f.yaml")
    assert root.origin(("a",)) == Origin("f.yaml", 1)
    assert root.origin(("b",)) == Origin("f.yaml", 2)
    assert root.origin(("b", 1, "c")) == Origin("f.yaml", 4)
    assert str(root.origin(("b", 1, "missing"))) == "f.yaml:4"
    assert str(root.origin(("b", 7))) == "f.yaml:2"


def test_aliases_and_merge_keys_are_followed_and_own_keys_win() -> None:
    text = "base: &base {a: 1, b: 2}\nuse:\n  b: 3\n  <<: *base\nlist: {<<: [*base, {c: 4}]}\n"
    assert plain(read_values(text, "f").value) == {
        "base": {"a": ("number", "1"), "b": ("number", "2")},
        "use": {"a": ("number", "1"), "b": ("number", "3")},
        "list": {"a": ("number", "1"), "b": ("number", "2"), "c": ("number", "4")},
    }


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_an_empty_file_has_no_values(text: str) -> None:
    assert plain(read_values(text, "f").value) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "a: [1\nb: 2",
            "f:2: this is not YAML: while parsing a flow sequence, expected ',' or ']', but got"
            " ':'",
        ),
        (
            "envFrom:\n- secretRef\n  name: x",
            "f:3: this is not YAML: mapping values are not allowed here",
        ),
        ("a: 1\n---\nb: 2", "f:3: a second document: write the values in one"),
        ("a: 1\nb: 2\na: 3", "f:3: the key 'a' is given twice, first in line 1"),
        ("a:\n  1: b", "f:2: the key 1 is no text: put it in quotes"),
        ("? [a]\n: b", "f:1: a key must be text: put it in quotes"),
        ("- a", "f:1: must be a mapping, such as jobName: my-job"),
        ("a: &a [*a]", "f:1: *a refers to a value that contains it"),
        ("[" * 3000, "f:1: this is nested too deep"),
        (
            "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
            + "".join(
                f"{b}: &{b} [{', '.join(['*' + a] * 10)}]\n"
                for a, b in zip("abcde", "bcdef", strict=True)
            ),
            "f:6: its aliases expand to more than 1000000 values",
        ),
        (r'a: "\ud83d"', "f:1: this is not YAML: half a surrogate pair"),
        (r'{"a": "\ud83da"}', "f:1: this is not YAML: half a surrogate pair"),
        ("a: \x00", "f:1: this is not YAML: special characters are not allowed"),
    ],
)
def test_a_file_without_values_is_refused_with_its_line(text: str, expected: str) -> None:
    with pytest.raises(UnreadableValues) as refused:
        read_values(text, "f")
    assert str(refused.value).splitlines()[0] == expected


def test_later_files_win_and_mappings_are_merged_deep() -> None:
    base = read_values("a: {x: 1, y: {z: 2}}\nlist: [1, 2]\nkept: k", "one")
    over = read_values("a: {y: {w: 3}}\nlist: [9]\na2: null", "two")
    merged = merge(base, over)
    assert plain(merged.value) == {
        "a": {"x": ("number", "1"), "y": {"z": ("number", "2"), "w": ("number", "3")}},
        "list": [("number", "9")],
        "kept": "k",
        "a2": None,
    }
    assert merged.origin(("a", "x")).source == "one"
    assert merged.origin(("a",)).source == "two"
    assert merged.origin(("a", "y", "w")).source == "two"


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(UnreadableValues):
        assert isinstance(read_values(text, "f").value, dict)
