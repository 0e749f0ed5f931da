"""JSON, with the place of everything."""

import json

import pytest
from hypothesis import given

from cli.manifests.json_text import parse_json
from cli.manifests.places import ManifestError, Place
from tests.support.builders.arbitrary import json_values


def test_values_and_their_places() -> None:
    first, second = parse_json('{"a": [1,\n\t{"b": "x"}]}\n{"c": null}')
    assert first.value == {"a": [1, {"b": "x"}]}
    assert first.places == {
        (): Place(1, 1),
        ("a",): Place(1, 2),
        ("a", 0): Place(1, 8),
        ("a", 1): Place(2, 2),
        ("a", 1, "b"): Place(2, 3),
    }
    assert (second.value, second.places) == (
        {"c": None},
        {(): Place(3, 1), ("c",): Place(3, 2)},
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'{"a": "\/\ud83d\ude00é"}', {"a": "/😀é"}),
        (r'{"a": "\ud800"}', {"a": "\ufffd"}),
        ('{"a": [1.0, 1e3, 1.5, -0, 9223372036854775807]}', {"a": [1, 1000, 1.5, 0, 2**63 - 1]}),
        ('{"a": [], "b": {}}', {"a": [], "b": {}}),
        ('{"a"\n:1, "b" : [{"c"\n\n: {"d"\n:2}}\n,3]}', {"a": 1, "b": [{"c": {"d": 2}}, 3]}),
        (f'{{"{"k" * 1100}": {{"{"m" * 1100}" : 1}}}}', {"k" * 1100: {"m" * 1100: 1}}),
    ],
)
def test_values_that_json_can_contain(text: str, value: object) -> None:
    (document,) = parse_json(text)
    assert json.dumps(document.value) == json.dumps(value)


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ('{"a": 1,\n "a": 2}', "the key 'a' is given twice, first in line 1", Place(2, 2)),
        ('{"a" 1}', "this is not JSON: Expecting ':' delimiter", Place(1, 6)),
        ('{"a": 1 "b"}', "this is not JSON: Expecting ',' delimiter", Place(1, 9)),
        ('{"a": [1 2]}', "this is not JSON: Expecting ',' delimiter", Place(1, 10)),
        ('{"a": tru}', "this is not JSON: Expecting value", Place(1, 7)),
        ('{"a": 1e999}', "1e999 is too large for a number of JSON", Place(1, 7)),
        ('{"a": NaN}', "this is not JSON: NaN is no number", Place(1, 7)),
        (
            '{"NaN": "NaN",\n "a": [-Infinity]}',
            "this is not JSON: -Infinity is no number",
            Place(2, 8),
        ),
        ('{"a": "x', "this is not JSON: Unterminated string starting at", Place(1, 7)),
        ("[" * 300 + "]" * 300, "this is nested too deep", Place(1, 202)),
    ],
)
def test_refused_values_of_each_notation(text: str, message: str, place: Place | None) -> None:
    with pytest.raises(ManifestError) as refused:
        parse_json(text)
    assert (str(refused.value), refused.value.place) == (message, place)


@given(json_values())
def test_it_reads_what_others_write(value: object) -> None:
    (document,) = parse_json(json.dumps({"a": value}, indent=1))
    assert document.value == json.loads(json.dumps({"a": value}), parse_int=_kept)


def _kept(digits: str) -> int:
    """As kubectl keeps it: what is no int64 is a float64."""
    return int(digits) if -(2**63) <= int(digits) < 2**63 else int(float(digits))
