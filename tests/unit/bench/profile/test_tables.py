from pathlib import Path

import orjson

from bench.circumstances import Circumstances
from bench.profile.tables import REST, Profile, ProfileTable, ranked

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
        "| etcd | 31.0 | - |",
        "| all | 318 | 1.00 |",
        "",
        "- A note.",
    ]


def test_rows_are_ranked_by_the_first_column_and_then_the_next() -> None:
    ours, theirs = {"a": 1.0, "b": 5.0}, {"c": 2.0, "b": 1.0}
    assert ranked([ours, theirs]) == [("b", [5.0, 1.0]), ("a", [1.0, 0.0]), ("c", [0.0, 2.0])]


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
