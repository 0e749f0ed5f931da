from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from bench.circumstances import Circumstances
from bench.profile.tables import FUNCTION, REST, Profile, ProfileTable, figure, ranked

TABLE = ProfileTable(
    "CPU", "program", ("ours", "Go"), [("etcd", [31.0, 0.0]), ("all", [318.2, 1.0])], ["A note."], 2
)
CIRCUMSTANCES = Circumstances("2026-01-02", "0123abcd", {"Kueue": "v1"}, "2 cores", 0.3, "c", 90.0)


def test_a_table_as_markdown_shows_zero_as_a_dash() -> None:
    assert TABLE.markdown() == [
        "### CPU",
        "",
        "| program | ours | Go |",
        "|---|---:|---:|",
        "| etcd | 31 | - |",
        "| all | 318 | 1 |",
        "",
        "- A note.",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "-"),
        (0.02, "<0.1"),
        (0.06, "0.1"),
        (2.96, "3"),
        (9.94, "9.9"),
        (9.96, "10"),
        (4539.4, "4,539"),
    ],
)
def test_figures_have_no_more_digits_than_a_second_run_repeats(value: float, text: str) -> None:
    assert figure(value) == text


def test_rows_beyond_the_listed_ones_are_added_to_the_rest() -> None:
    rows = [("a", [5.0]), ("b", [2.0]), ("c", [1.0]), (REST, [0.5]), ("all", [8.5])]
    table = ProfileTable("T", "program", ("ms",), rows, listed=1)
    assert table.markdown()[4:] == ["| a | 5 |", f"| {REST} | 3.5 |", "| all | 8.5 |"]


def test_functions_contain_each_other_and_are_not_added_up() -> None:
    table = ProfileTable("T", FUNCTION, ("%",), [("f", [5.0]), ("g", [4.0])], listed=1)
    assert table.markdown()[4:] == ["| `f` | 5 |"]


def test_a_table_that_lists_nothing_is_in_the_json_only() -> None:
    profile = Profile(CIRCUMSTANCES, [replace(TABLE, listed=0)])
    assert "###" not in profile.markdown()
    assert profile.as_json()["tables"][0]["rows"]


def test_rows_are_ranked_by_the_first_column_and_then_the_next() -> None:
    ours, theirs = {"a": 1.0, "b": 5.0}, {"c": 2.0, "b": 1.0}
    assert ranked([ours, theirs]) == [("b", [5.0, 1.0]), ("a", [1.0, 0.0]), ("c", [0.0, 2.0])]


def test_comparable_columns_are_ranked_by_their_largest_value() -> None:
    ours, theirs = {"a": 2.0, "b": 3.0}, {"c": 4.0, "b": 1.0}
    names = [name for name, _ in ranked([ours, theirs], comparable=True)]
    assert names == ["c", "b", "a"]


def test_rows_that_are_small_in_every_column_are_the_rest() -> None:
    ours, theirs = {"a": 90.0, "b": 6.0, "c": 4.0}, {"a": 50.0, "c": 50.0}
    assert ranked([ours, theirs], smallest=0.1) == [
        ("a", [90.0, 50.0]), ("c", [4.0, 50.0]), (REST, [6.0, 0.0]),
    ]  # fmt: skip
    assert ranked([ours], most=1) == [("a", [90.0]), (REST, [10.0])]


def test_a_profile_is_read_as_it_was_recorded(tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    profile = Profile(CIRCUMSTANCES, [TABLE])
    file.write_bytes(orjson.dumps(profile.as_json()))
    assert Profile.read(file).markdown() == profile.markdown()
    assert profile.as_json()["tables"][0]["rows"][0] == {"label": "etcd", "values": [31.0, 0.0]}
