"""What is remembered of deletions, of each AppWrapper for itself."""

from datetime import timedelta

from controller.memory.deletions import Explanation, Forced
from controller.memory.memory import Memory
from tests.support.moments import NOW

TOLD = Explanation(NOW, forcing=False, blockers=("x",), forced_off=())


def test_nothing_is_known_of_what_was_never_asked_for() -> None:
    memory = Memory()
    deletions = memory.deletions
    assert not deletions.is_accepted("u1", "a")
    assert not deletions.is_absent("u1", "a")
    assert deletions.refusal("u1", "a") == ""
    assert deletions.forced("u1", "a") is None
    assert deletions.explanation("u1") is None
    assert not deletions.was_complete("u1", 0)
    assert not deletions.had_makers("u1")
    assert not deletions.was_announced("u1", 1, "apps/Deployment", "train")
    deletions.find_left("u1")
    deletions.end("u1")
    memory.forget("u1", ("team1", "train"))


def test_a_refusal_ends_when_the_delete_is_accepted() -> None:
    memory = Memory()
    deletions = memory.deletions
    deletions.refuse("u1", "a", "no")
    deletions.refuse("u1", "b", "nor this")
    deletions.accept("u1", "a")
    assert (deletions.refusal("u1", "a"), deletions.refusal("u1", "b")) == ("", "nor this")
    assert deletions.is_accepted("u1", "a")
    assert not deletions.is_accepted("u2", "a")


def test_it_is_clear_since_the_first_look_that_found_nothing() -> None:
    memory = Memory()
    deletions = memory.deletions
    assert deletions.clear_since("u1", NOW) == NOW
    later = NOW + timedelta(seconds=1)
    assert deletions.clear_since("u1", later) == NOW
    deletions.find_left("u1")
    assert deletions.clear_since("u1", later) == later
    assert deletions.clear_since("u1", NOW) == NOW  # the clock was set back


def test_the_end_of_a_deletion_leaves_what_was_seen_of_the_attempt() -> None:
    memory = Memory()
    deletions = memory.deletions
    deletions.see_complete("u1", 3)
    deletions.accept("u1", "a")
    deletions.force("u1", "a", 7.0)
    deletions.explain("u1", TOLD)
    deletions.find_makers("u1")
    assert (deletions.forced("u1", "a"), deletions.explanation("u1")) == (Forced(1, 7.0), TOLD)
    assert (deletions.had_makers("u1"), deletions.had_makers("u2")) == (True, False)
    deletions.end("u1")
    assert not deletions.had_makers("u1")
    assert (deletions.was_complete("u1", 3), deletions.was_complete("u1", 4)) == (True, False)
    assert (deletions.is_accepted("u1", "a"), deletions.explanation("u1")) == (False, None)
    memory.forget("u1", ("team1", "train"))
    assert not deletions.was_complete("u1", 3)


def test_after_a_deletion_only_objects_that_a_cache_still_shows_are_known_as_gone() -> None:
    memory = Memory()
    deletions = memory.deletions
    assert set(deletions.absent("u1")) == set()
    deletions.find_absent("u1", "a")
    assert deletions.absent("u1") == {"a"}
    deletions.end("u1", ["b", "c"])
    assert deletions.absent("u1") == {"b", "c"}
    deletions.end("u1", [])
    assert set(deletions.absent("u1")) == set()
    deletions.end("u2", ["d"])  # a pass that ends after its AppWrapper was forgotten
    assert set(deletions.absent("u2")) == set()
