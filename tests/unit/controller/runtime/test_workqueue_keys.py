import pytest

from controller.runtime.workqueue import KeyQueue, Taken, WakeReason


def take(queue: KeyQueue[str], now: float = 0) -> str | None:
    found = queue.take(now)
    return None if found is None else found.key


def taken(queue: KeyQueue[str]) -> list[str]:
    keys = []
    while (key := take(queue)) is not None:
        keys.append(key)
    return keys


def test_keys_come_in_order_and_once() -> None:
    queue = KeyQueue[str]()
    assert [queue.add(key, 0) for key in "abab"] == [True, True, False, False]
    assert queue.ready == 2
    assert taken(queue) == ["a", "b"]


def test_a_key_in_work_is_not_given_out_again() -> None:
    queue = KeyQueue[str]()
    queue.add("a", 0)
    assert take(queue, 3) == "a"
    assert queue.add("a", 0)
    assert not queue.add("a", 0)
    assert take(queue) is None
    assert (queue.ready, list(queue.in_work.values())) == (0, [3])
    assert queue.done("a") == 3
    assert taken(queue) == ["a"]
    queue.done("a")
    assert taken(queue) == []


def test_a_key_that_was_not_added_meanwhile_is_not_reconciled_again() -> None:
    queue = KeyQueue[str]()
    queue.add("a", 0)
    take(queue)
    queue.done("a")
    assert taken(queue) == []


def test_only_the_earliest_moment_counts() -> None:
    queue = KeyQueue[str]()
    queue.add_at("a", 20)
    queue.add_at("a", 10)
    queue.add_at("a", 30)
    assert queue.next_moment() == 10
    assert queue.release(9.9) == 0
    assert take(queue) is None
    assert queue.release(10) == 1
    assert take(queue) == "a"
    assert queue.next_moment() is None
    queue.done("a")
    queue.release(100)
    assert take(queue) is None


def test_moments_come_in_order() -> None:
    queue = KeyQueue[str]()
    queue.add_at("b", 2)
    queue.add_at("a", 1)
    queue.add_at("c", 3)
    assert queue.release(2) == 2
    assert taken(queue) == ["a", "b"]
    assert queue.next_moment() == 3


def test_taking_a_key_drops_its_moments() -> None:
    queue = KeyQueue[str]()
    queue.add_at("a", 10)
    queue.add_at("a", 20, WakeReason.RESYNC)
    queue.add("a", 0)
    assert take(queue) == "a"
    assert queue.next_moment() is None


def test_a_moment_named_while_in_work_is_kept() -> None:
    queue = KeyQueue[str]()
    queue.add("a", 0)
    take(queue)
    queue.add_at("a", 10)
    queue.done("a")
    queue.release(10)
    assert take(queue) == "a"


def test_a_moment_that_comes_while_in_work_waits_for_its_end() -> None:
    queue = KeyQueue[str]()
    queue.add("a", 0)
    take(queue)
    queue.add_at("a", 10)
    queue.release(10)
    assert take(queue) is None
    queue.done("a")
    assert take(queue) == "a"


def test_giving_back_what_was_not_taken_is_a_bug() -> None:
    with pytest.raises(KeyError):
        KeyQueue[str]().done("a")


RESYNC, DEADLINE, CHANGE, URGENT = WakeReason


@pytest.mark.parametrize(
    ("moments", "changed", "wake"),
    [
        pytest.param([(10, RESYNC)], False, RESYNC, id="nothing but the resync"),
        pytest.param([(10, DEADLINE)], False, DEADLINE, id="a deadline"),
        pytest.param([(10, RESYNC), (9, DEADLINE)], False, DEADLINE, id="a deadline before"),
        pytest.param([(9, RESYNC), (10, DEADLINE)], False, DEADLINE, id="a deadline just after"),
        pytest.param([(9, RESYNC), (11, DEADLINE)], False, RESYNC, id="a deadline yet to come"),
        pytest.param([(10, RESYNC)], True, CHANGE, id="a change too"),
        pytest.param([(10, DEADLINE)], True, CHANGE, id="a change and a deadline"),
    ],
)
def test_the_weightiest_of_all_reasons_for_a_key_is_reported(
    moments: list[tuple[float, WakeReason]], changed: bool, wake: WakeReason
) -> None:
    queue = KeyQueue[str]()
    for moment, reason in moments:
        queue.add_at("a", moment, reason)
    queue.release(10)
    if changed:
        queue.add("a", 10)
    found = queue.take(10)
    assert found is not None
    assert found.wake is wake


def test_how_long_a_key_waited_counts_from_when_it_was_first_wanted() -> None:
    queue = KeyQueue[str]()
    queue.add("a", 1)
    queue.add("a", 2)
    queue.add_at("b", 3)
    queue.release(4)
    assert queue.take(5) == Taken("a", CHANGE, 4)
    assert queue.take(5) == Taken("b", DEADLINE, 2)
    queue.add("a", 6)  # in work: it counts from now, not from when that work ends
    queue.done("a")
    assert queue.take(9) == Taken("a", CHANGE, 3)


def test_moments_that_no_longer_count_do_not_pile_up() -> None:
    """Each pass names its resync ten minutes ahead; a busy key has many passes by then."""
    queue = KeyQueue[str]()
    for number in range(10_000):
        queue.add("a", number)
        take(queue, number)
        queue.add_at("a", number + 600, RESYNC)
        queue.done("a")
    assert len(queue._heap) < 1100
    assert queue.next_moment() == 9999 + 600


def rested(queue: KeyQueue[str]) -> KeyQueue[str]:
    """`a` was worked on and rests until 5."""
    queue.add("a", 0)
    assert take(queue) == "a"
    queue.done("a", 5)
    return queue


def test_a_resting_key_is_ready_when_the_rest_is_over_and_not_before() -> None:
    queue = rested(KeyQueue[str]())
    assert queue.add("a", 1)
    assert not queue.add("a", 2)
    queue.add("b", 3)
    assert taken(queue) == ["b"]
    assert queue.next_moment() == 5
    assert queue.release(4.9) == 0
    assert take(queue, 4.9) is None
    assert queue.release(5) == 0  # it was wanted before
    assert queue.take(6) == Taken("a", WakeReason.CHANGE, 5)


def test_a_key_that_changed_during_its_pass_waits_for_the_rest() -> None:
    queue = KeyQueue[str]()
    queue.add("a", 0)
    assert take(queue) == "a"
    queue.add("a", 1)
    queue.done("a", 5)
    assert take(queue) is None
    queue.release(5)
    assert taken(queue) == ["a"]


def test_a_rest_that_nothing_interrupted_leaves_nothing() -> None:
    queue = rested(KeyQueue[str]())
    assert queue.release(5) == 0
    assert (take(queue), queue.next_moment()) == (None, None)
    queue.add("a", 6)
    assert take(queue) == "a"


@pytest.mark.parametrize(("moment", "comes"), [(3, 5), (7, 7)])
def test_a_deadline_during_the_rest_waits_for_its_end(moment: float, comes: float) -> None:
    queue = rested(KeyQueue[str]())
    queue.add_at("a", moment)
    for now in range(1, 10):
        queue.release(now)
        if (found := queue.take(now)) is not None:
            assert (now, found.wake) == (comes, WakeReason.DEADLINE)
            return
    raise AssertionError("it never came")


def test_rests_without_number_do_not_fill_the_memory() -> None:
    queue = KeyQueue[str]()
    for number in range(10_000):
        queue.add("a", number)
        assert take(queue) == "a"
        queue.done("a", number + 0.5)
        queue.release(number + 0.5)
    assert queue.next_moment() is None


def test_urgent_keys_go_first_and_resyncs_last() -> None:
    queue = KeyQueue[str]()
    for key, wake in (("r", RESYNC), ("c1", CHANGE), ("d", DEADLINE), ("u1", URGENT)):
        queue.add(key, 0, wake)
    queue.add("u2", 1, URGENT)
    queue.add("c2", 1, CHANGE)
    assert queue.ready == 6
    assert taken(queue) == ["u1", "u2", "c1", "d", "c2", "r"]


@pytest.mark.parametrize(
    ("wakes", "order"),
    [
        ((CHANGE, URGENT), ["a", "b", "r"]),
        ((RESYNC, CHANGE), ["b", "a", "r"]),
        ((URGENT, CHANGE), ["a", "b", "r"]),
        ((DEADLINE, CHANGE), ["b", "a", "r"]),
    ],
)
def test_a_ready_key_moves_ahead_with_a_weightier_reason_and_is_taken_once(
    wakes: tuple[WakeReason, WakeReason], order: list[str]
) -> None:
    queue = KeyQueue[str]()
    queue.add("r", 0, RESYNC)
    queue.add("b", 0)
    queue.add("a", 0, wakes[0])
    assert not queue.add("a", 1, wakes[1])
    assert queue.ready == 3
    assert taken(queue) == order


def test_an_urgent_change_during_work_goes_first_after_it() -> None:
    queue = KeyQueue[str]()
    queue.add("a", 0)
    assert take(queue) == "a"
    queue.add("b", 0)
    queue.add("a", 0, URGENT)
    queue.done("a")
    assert taken(queue) == ["a", "b"]


def test_every_sixteenth_key_is_the_one_that_was_wanted_first() -> None:
    """So a flood of urgent changes delays the others, and stops none."""
    queue = KeyQueue[str]()
    queue.add("resync", 1, RESYNC)
    queue.add("change", 2)
    for number in range(40):
        queue.add(f"urgent {number}", 3, URGENT)
    order = taken(queue)
    assert (order[15], order[31]) == ("resync", "change")
    assert order[:3] == ["urgent 0", "urgent 1", "urgent 2"]
