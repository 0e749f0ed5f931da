from typing import Any

import pytest

from shared.kube.object_cache import Change, ObjectCache
from tests.support.fakes.fake_kube import kube_object

A = ("team1", "a")


def phase_of(raw: dict[str, Any]) -> str:
    return str(raw["phase"])


@pytest.fixture
def cache() -> ObjectCache[str]:
    return ObjectCache(phase_of, {"phase": lambda phase: [phase], "letters": list})


def a(version: int, phase: str, uid: str = "u1") -> dict[str, Any]:
    return kube_object("a", version, uid=uid, phase=phase)


def test_a_new_object(cache: ObjectCache[str]) -> None:
    assert cache.put(a(5, "new")) == [Change(A, None, "new")]
    assert cache.get(A) == "new"
    assert list(cache) == [(A, "new")]
    assert len(cache) == 1


def test_a_cluster_wide_object_has_no_namespace(cache: ObjectCache[str]) -> None:
    raw = a(5, "new")
    del raw["metadata"]["namespace"]
    assert cache.put(raw) == [Change(("", "a"), None, "new")]


def test_a_changed_object(cache: ObjectCache[str]) -> None:
    cache.put(a(5, "old"))
    assert cache.put(a(6, "new")) == [Change(A, "old", "new")]


@pytest.mark.parametrize("version", [4, 5])
def test_late_or_repeated_news_is_ignored(cache: ObjectCache[str], version: int) -> None:
    cache.put(a(5, "now"))
    assert cache.put(a(version, "late")) == []
    assert cache.get(A) == "now"


def test_versions_are_compared_as_numbers(cache: ObjectCache[str]) -> None:
    cache.put(a(99, "old"))
    assert cache.put(a(100, "new")) == [Change(A, "old", "new")]


def test_an_equal_projection_is_no_change_but_its_version_counts(cache: ObjectCache[str]) -> None:
    cache.put(a(5, "same"))
    assert cache.put(a(7, "same")) == []
    assert cache.put(a(6, "late")) == []


def test_another_object_of_the_same_name_is_two_changes(cache: ObjectCache[str]) -> None:
    cache.put(a(5, "same", uid="u1"))
    assert cache.put(a(6, "same", uid="u2")) == [
        Change(A, "same", None),
        Change(A, None, "same"),
    ]


def test_late_news_of_its_predecessor_is_ignored(cache: ObjectCache[str]) -> None:
    cache.put(a(9, "new", uid="u2"))
    assert cache.put(a(5, "old", uid="u1")) == []
    assert cache.remove(a(6, "old", uid="u1")) == []
    assert cache.get(A) == "new"


def test_a_deleted_object_shows_its_last_state(cache: ObjectCache[str]) -> None:
    cache.put(a(5, "running"))
    last = a(8, "succeeded")
    assert cache.remove(last) == [Change(A, "running", None, last)]
    assert cache.get(A) is None
    assert cache.remove(last) == []


def test_an_own_write_is_not_undone_by_a_late_event(
    cache: ObjectCache[str],
) -> None:
    cache.put(a(5, "old"))
    cache.advance(5)
    assert cache.lay_over(a(8, "ours")) == [Change(A, "old", "ours")]
    assert cache.put(a(6, "late")) == []
    assert cache.put(a(8, "ours")) == []
    assert cache.put(a(9, "next")) == [Change(A, "ours", "next")]


def test_a_laid_over_object_that_is_deleted_is_gone(cache: ObjectCache[str]) -> None:
    cache.lay_over(a(8, "ours"))
    assert cache.remove(a(9, "ours")) != []
    assert cache.get(A) is None


def test_an_answer_slower_than_the_watch_makes_no_ghost(cache: ObjectCache[str]) -> None:
    """Created at 6 and deleted at 8; the answer to our create is read only then."""
    cache.put(a(6, "new"))
    cache.remove(a(8, "new"))
    cache.advance(8)
    assert cache.lay_over(a(6, "new")) == []
    assert cache.get(A) is None


def test_an_object_missing_in_a_list_is_gone_unless_it_is_newer(cache: ObjectCache[str]) -> None:
    for name, version in (("a", 5), ("b", 6), ("ours", 12)):
        cache.put(kube_object(name, version, phase="x"))
    cache.begin_list(10)
    assert cache.put(kube_object("b", 6, phase="x")) == []
    assert cache.end_of_list({("team1", "b")}, 10) == [Change(A, "x", None)]
    assert [key for key, _ in cache] == [("team1", "b"), ("team1", "ours")]
    assert cache.seen_version == 10


def test_after_a_restore_from_backup_the_list_is_believed(cache: ObjectCache[str]) -> None:
    cache.put(a(900, "future"))
    cache.put(kube_object("b", 800, phase="future"))
    cache.advance(1000)
    cache.begin_list(100)
    assert cache.put(a(90, "past")) == [Change(A, "future", "past")]
    assert cache.end_of_list({A}, 100) == [Change(("team1", "b"), "future", None)]
    assert cache.seen_version == 100


def test_indexes_follow_changes(cache: ObjectCache[str]) -> None:
    cache.put(a(1, "xy"))
    cache.put(kube_object("b", 2, phase="yz"))
    assert cache.indexed("letters", "y") == [(A, "xy"), (("team1", "b"), "yz")]
    assert cache.indexed("phase", "xy") == [(A, "xy")]
    cache.put(a(3, "z"))
    assert cache.indexed("letters", "x") == []
    assert cache.indexed("letters", "z") == [(("team1", "b"), "yz"), (A, "z")]
    cache.remove(a(4, "z"))
    assert cache.indexed("letters", "z") == [(("team1", "b"), "yz")]


def test_a_value_named_twice_is_filed_once(cache: ObjectCache[str]) -> None:
    cache.put(a(1, "xx"))
    assert cache.indexed("letters", "x") == [(A, "xx")]
    cache.remove(a(2, "xx"))
    assert cache.indexed("letters", "x") == []


def test_an_unknown_index_is_a_bug(cache: ObjectCache[str]) -> None:
    with pytest.raises(KeyError):
        cache.indexed("nodes", "x")


def test_iterating_survives_changes(cache: ObjectCache[str]) -> None:
    cache.put(a(1, "x"))
    for _ in cache:
        cache.put(kube_object("b", 2, phase="y"))
    assert len(cache) == 2
