"""The text that kubectl reads: the same texts in YAML 1.1, YAML 1.2 and JSON."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from cli.reports import to_text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    ).map(lambda value: {"root": value})
)
def test_whatever_is_written_is_read_again_by_every_parser(value: dict[str, object]) -> None:
    text = to_text(value, "yaml")
    assert yaml.safe_load(text) == value
    assert YAML(typ="safe", pure=True).load(text) == value
    assert json.loads(to_text(value, "json")) == value


@pytest.mark.parametrize(
    "text",
    ["yes", "No", "on", "y", "true", "null", "1", "1e3", "010", "12:30", "0x1F", "~", "", ".5"],
)
def test_texts_that_some_parser_takes_for_something_else_are_in_quotes(text: str) -> None:
    assert to_text({"a": text, text: 1}, "yaml") == f'a: "{text}"\n"{text}": 1\n'


def test_a_block_does_not_begin_with_a_tab() -> None:
    """libyaml, which kubectl's parser comes from, would take it for an indentation."""
    assert to_text({"a": "\tone\n"}, "yaml") == 'a: "\\tone\\n"\n'


def test_scripts_are_blocks_and_long_lines_are_not_folded() -> None:
    long = "word " * 100 + "end"
    assert (
        to_text({"a": "one\n  two\n", "b": long}, "yaml") == f'a: |\n  one\n    two\nb: "{long}"\n'
    )


def test_order_is_kept_and_nothing_is_shared_by_reference() -> None:
    same = {"z": 1, "a": ["b"]}
    assert to_text({"x": same, "c": same}, "yaml") == (
        "x:\n  z: 1\n  a:\n  - b\nc:\n  z: 1\n  a:\n  - b\n"
    )
