"""YAML as kubectl reads it, with the place of everything."""

from typing import Any

import pytest

from cli.manifests.places import ManifestError, Place, place_of
from cli.manifests.yaml_text import parse_yaml


def test_values_and_their_places() -> None:
    (document,) = parse_yaml("a:\n  b: [1, {c: 2}]\n  d:\n  - e: x\n")
    assert document.value == {"a": {"b": [1, {"c": 2}], "d": [{"e": "x"}]}}
    assert document.places == {
        (): Place(1, 1),
        ("a",): Place(1, 1),
        ("a", "b"): Place(2, 3),
        ("a", "b", 0): Place(2, 7),
        ("a", "b", 1): Place(2, 10),
        ("a", "b", 1, "c"): Place(2, 11),
        ("a", "d"): Place(3, 3),
        ("a", "d", 0): Place(4, 5),
        ("a", "d", 0, "e"): Place(4, 5),
    }


def test_a_missing_field_is_where_it_is_missing() -> None:
    (document,) = parse_yaml("a:\n  b: 1\n")
    assert place_of(document.places, ("a", "c", "d")) == Place(1, 1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &x {k: v}\nb: *x\n", {"a": {"k": "v"}, "b": {"k": "v"}}),
        ("a: &x {k: v, l: w}\nb:\n  <<: *x\n  l: own\n", {"b": {"k": "v", "l": "own"}}),
        # kubectl goes by the order, whatever YAML's authors meant.
        ("a: &x {l: w}\nb:\n  l: own\n  <<: *x\n", {"b": {"l": "w"}}),
        ("a: &x {k: 1}\nc: &y {k: 2, l: 3}\nb:\n  <<: [*x, *y]\n", {"b": {"k": 1, "l": 3}}),
        ("a:\tb\nc: d\t# e\nf: [\n\t1,\t2]\n", {"a": "b", "c": "d", "f": [1, 2]}),
        ("1: a\n2.5: c\n", None),
        ("1: a\non: b\n", {"1": "a", "true": "b"}),
        ('"<<": a\n', {"<<": "a"}),
        ("a: |\n  x\n\n   y\nb: >-\n  z\n  z\n", {"a": "x\n\n y\n", "b": "z z"}),
    ],
)
def test_values_that_yaml_can_contain(text: str, value: Any) -> None:
    if value is None:
        with pytest.raises(ManifestError, match="a key must be text"):
            parse_yaml(text)
        return
    (document,) = parse_yaml(text)
    assert {key: each for key, each in document.value.items() if key in value} == value


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("a: 1\nb: 2\na: 3\n", "the key 'a' is given twice, first in line 1", Place(3, 1)),
        ("b: 1\n---\na: *b\n", "*b names no anchor of this document", Place(3, 4)),
        ("a: &b [*b]\n", "*b refers to a value that contains it", Place(1, 8)),
        ("a: {<<: 1}\n", "<< merges mappings only", Place(1, 5)),
        ("a: !mine x\n", "the tag !mine of 'x' is not supported", Place(1, 4)),
        ("a: .inf\n", ".inf is not a JSON number", Place(1, 4)),
        ('a: "\\ud83d"\n', "this is not YAML: surrogates not allowed", Place(1, 4)),
        ("? [a]\n: b\n", "a key must be text", Place(1, 3)),
    ],
)
def test_refused_values_of_each_notation(text: str, message: str, place: Place) -> None:
    with pytest.raises(ManifestError) as refused:
        parse_yaml(text)
    assert str(refused.value).startswith(message)
    assert refused.value.place == place


@pytest.mark.parametrize(
    ("text", "line"), [("a: [1\nb: 2\n", 2), ("a:\n\t- b\n", 2), ("a: 'x\n", 2), ("a: b: c\n", 1)]
)
def test_malformed_yaml_is_refused(text: str, line: int) -> None:
    with pytest.raises(ManifestError, match="this is not YAML: ") as refused:
        parse_yaml(text)
    assert refused.value.place is not None
    assert refused.value.place.line == line


def test_a_control_character() -> None:
    with pytest.raises(ManifestError, match="this is not YAML: "):
        parse_yaml("a: 1\nb: \x07\n")


def test_aliases_that_expand_to_billions() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 10)
    ]
    with pytest.raises(ManifestError, match="its aliases expand to more than 1000000 values"):
        parse_yaml("\n".join(lines))


def test_endless_nesting_is_refused() -> None:
    with pytest.raises(ManifestError, match="nested too deep"):
        parse_yaml("a: " + "[" * 300 + "]" * 300)


def test_documents_without_a_value() -> None:
    text = "# license\n---\n---\n# a\n---\na: 1\n...\n# end\n"
    assert [each.value for each in parse_yaml(text)] == [None, None, {"a": 1}]
