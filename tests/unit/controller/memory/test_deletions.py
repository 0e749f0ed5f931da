"""What is remembered of deletions, of each AppWrapper for itself."""

from datetime import timedelta

from controller.memory.deletions import Deletion, Explanation, Forced
from controller.memory.memory import Memory
from tests.support.moments import NOW

EXPLANATION = Explanation(NOW, forcing=False, blockers=("x",), forced_off=())


def test_nothing_is_known_of_what_was_never_asked_for() -> None:
    memory = Memory()
    deletions = memory.deletions
    assert deletions.known("u1") == Deletion()
    assert not deletions.was_announced("u1", 1, "apps/Deployment", "train")
    deletions.find_left("u1")
    deletions.end("u1")
    memory.forget("u1", ("team1", "train"))


def test_a_refusal_ends_when_the_delete_is_accepted() -> None:
    deletions = Memory().deletions
    deletions.of("u1").refused |= {"a": "no", "b": "nor this"}
    deletions.accept("u1", "a")
    assert deletions.known("u1") == Deletion(accepted={"a"}, refused={"b": "nor this"})
    assert deletions.known("u2") == Deletion()


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
    deletions.of("u1").complete = 3
    deletions.of("u1").explanation = EXPLANATION
    deletions.of("u1").makers = True
    deletions.accept("u1", "a")
    deletions.force("u1", "a", 7.0)
    assert deletions.known("u1").forced == {"a": Forced(1, 7.0)}
    deletions.end("u1")
    assert deletions.known("u1") == Deletion(complete=3)
    memory.forget("u1", ("team1", "train"))
    assert deletions.known("u1") == Deletion()


def test_after_a_deletion_only_objects_that_a_cache_still_shows_are_known_as_gone() -> None:
    deletions = Memory().deletions
    deletions.of("u1").absent.add("a")
    deletions.end("u1", ["b", "c"])
    assert deletions.known("u1") == Deletion(absent={"b", "c"})
    deletions.end("u1", [])
    assert deletions.known("u1") == Deletion()
    deletions.end("u2", ["d"])  # a pass that ends after its AppWrapper was forgotten
    assert deletions.known("u2") == Deletion()
