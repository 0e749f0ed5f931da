"""Paths as messages write them, and where they lead."""

import pytest

from cli.manifests.places import Way, way_in

TARGET = {
    "metadata": {"labels": {"a.b/c": "x", "a": {"b/c": 1}}},
    "spec": {"items": [{"k": 1}, {"k": [2, 3]}], "a": 1, "ab": {"c": 1}},
}


@pytest.mark.parametrize(
    ("path", "way"),
    [
        ("spec", ("spec",)),
        ("spec.items[1].k[0]", ("spec", "items", 1, "k", 0)),
        ("spec.items[7].k", ("spec", "items")),
        ("spec.items[1]: every reset deletes it", ("spec", "items", 1)),
        ("spec.items[1].k differ from", ("spec", "items", 1, "k")),
        ("spec.ab.c", ("spec", "ab", "c")),
        ("spec.abc", ("spec",)),
        ("metadata.labels[a.b/c]: remove it", ("metadata", "labels", "a.b/c")),
        ("metadata.labels.a.b/c", ("metadata", "labels", "a.b/c")),
        ("spec.missing.a", ("spec",)),
        ("in a team's namespace it has to be wrapped", ()),
        ("the AppWrapper is large: spec", ()),
        ("", ()),
    ],
)
def test_a_path(path: str, way: Way) -> None:
    assert way_in(TARGET, path) == way
