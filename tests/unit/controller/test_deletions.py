"""What is remembered of deletions, of each AppWrapper for itself."""

from datetime import UTC, datetime, timedelta

from controller.memory import Deletions, Explanation, Forced

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TOLD = Explanation(NOW, forcing=False, blockers=("x",), forced_off=())


def test_nothing_is_known_of_what_was_never_asked_for() -> None:
    memory = Deletions()
    assert not memory.is_accepted("u1", "a")
    assert not memory.is_absent("u1", "a")
    assert memory.refusal("u1", "a") == ""
    assert memory.forced("u1", "a") is None
    assert memory.told("u1") is None
    assert not memory.was_complete("u1", 0)
    memory.tell("u1", None)
    memory.find_left("u1")
    memory.end("u1")
    memory.forget("u1")


def test_a_refusal_ends_when_the_delete_is_accepted() -> None:
    memory = Deletions()
    memory.refuse("u1", "a", "no")
    memory.refuse("u1", "b", "nor this")
    memory.accept("u1", "a")
    assert (memory.refusal("u1", "a"), memory.refusal("u1", "b")) == ("", "nor this")
    assert memory.is_accepted("u1", "a")
    assert not memory.is_accepted("u2", "a")


def test_it_is_clear_since_the_first_look_that_found_nothing() -> None:
    memory = Deletions()
    assert memory.clear_since("u1", NOW) == NOW
    later = NOW + timedelta(seconds=1)
    assert memory.clear_since("u1", later) == NOW
    memory.find_left("u1")
    assert memory.clear_since("u1", later) == later
    assert memory.clear_since("u1", NOW) == NOW  # the clock was set back


def test_the_end_of_a_deletion_leaves_what_was_seen_of_the_attempt() -> None:
    memory = Deletions()
    memory.see_complete("u1", 3)
    memory.accept("u1", "a")
    memory.force("u1", "a", 7.0)
    memory.tell("u1", TOLD)
    assert (memory.forced("u1", "a"), memory.told("u1")) == (Forced(1, 7.0), TOLD)
    memory.end("u1")
    assert (memory.was_complete("u1", 3), memory.was_complete("u1", 4)) == (True, False)
    assert (memory.is_accepted("u1", "a"), memory.told("u1")) == (False, None)
    memory.forget("u1")
    assert not memory.was_complete("u1", 3)
