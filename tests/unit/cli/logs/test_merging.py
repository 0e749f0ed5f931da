"""Lines of several logs in the order of their times."""

from hypothesis import given
from hypothesis import strategies as st

from cli.logs.lines import LogLine
from cli.logs.merging import TimeMerge


def at(second: int, text: str = "") -> LogLine:
    return LogLine(f"{second:02}", text or f"{second}")


def released(merge: TimeMerge[str], now: float = 0.0) -> list[str]:
    return [f"{source}{line.text}" for _, source, line in merge.ready(now)]


def test_a_line_waits_for_the_silent_logs() -> None:
    merge: TimeMerge[str] = TimeMerge(None)
    a, b = merge.open("a"), merge.open("b")
    merge.add(a, at(1), 0)
    merge.add(a, at(3), 0)
    assert (released(merge, 1e9), merge.wait(0)) == ([], None)
    merge.add(b, at(2), 0)
    assert released(merge) == ["a1", "b2"]
    merge.close(b)
    assert released(merge) == ["a3"]
    assert not merge.is_over
    merge.close(a)
    assert (merge.is_over, merge.open_sources) == (True, 0)


def test_a_line_of_a_growing_log_waits_for_a_moment_only() -> None:
    merge: TimeMerge[str] = TimeMerge(0.3)
    a, b = merge.open("a"), merge.open("b")
    merge.add(a, at(2), 10.0)
    assert (released(merge, 10.1), merge.wait(10.1)) == ([], 0.3 + 10.0 - 10.1)
    merge.add(b, at(1), 10.1)
    # The other log is silent again, and the earlier line has waited less.
    assert released(merge, 10.2) == ["b1"]
    assert released(merge, 10.3) == ["a2"]
    assert merge.wait(10.3) is None


def test_equal_times_keep_the_order_of_the_logs_and_of_their_lines() -> None:
    merge: TimeMerge[str] = TimeMerge(None)
    a, b = merge.open("a"), merge.open("b")
    for text in ("x", "y"):
        merge.add(b, at(1, text), 0)
        merge.add(a, at(1, text), 0)
    merge.close(a)
    merge.close(b)
    assert released(merge) == ["ax", "ay", "bx", "by"]


def test_a_clock_that_is_set_back_keeps_the_order_of_its_own_log() -> None:
    merge: TimeMerge[str] = TimeMerge(None)
    a, b = merge.open("a"), merge.open("b")
    for second in (5, 2, 7):
        merge.add(a, at(second), 0)
    merge.add(b, at(6), 0)
    merge.close(a)
    merge.close(b)
    assert released(merge) == ["a5", "a2", "b6", "a7"]


@given(st.lists(st.lists(st.integers(0, 50), max_size=8), max_size=6), st.randoms())
def test_whatever_arrives_first_the_result_is_sorted(logs: list[list[int]], random: object) -> None:
    merge: TimeMerge[str] = TimeMerge(None)
    sources = {merge.open("a"): sorted(each) for each in logs}
    waiting = {number: list(lines) for number, lines in sources.items()}
    found: list[str] = []
    while waiting:
        number = random.choice(sorted(waiting))  # type: ignore[attr-defined]
        if waiting[number]:
            merge.add(number, at(waiting[number].pop(0)), 0)
        else:
            del waiting[number]
            merge.close(number)
        found += [line.moment for _, _, line in merge.ready(0)]
    assert found == sorted(f"{each:02}" for lines in logs for each in lines)
    assert merge.is_over
