"""The search through a small machine finds wrong steps and traps, each with the way to it."""

from collections.abc import Iterator

from tests.simulation.graph import Step, explore, traps


def steps(number: int) -> Iterator[Step[int]]:
    """Count to 3 and back to 1, forever; a fault leads to 7, which can only stay; 5 is wrong."""
    match number:
        case 0:
            yield Step("begin", 1)
        case 1 | 2:
            yield Step("count", number + 1)
            yield Step("fault", 7, fair=False)
        case 3:
            yield Step("start again", 1)
            yield Step("overshoot", 5, fair=False, wrong="more than 3")
        case 7:
            yield Step("stay", 7)


def test_every_reachable_state_is_found_once() -> None:
    graph = explore(0, steps)
    assert (graph.states, graph.steps) == ([0, 1, 2, 7, 3], 8)


def test_a_wrong_step_is_found_with_its_way_and_not_followed() -> None:
    graph = explore(0, steps)
    number, name = graph.wrong["more than 3"]
    assert (graph.path(number), name) == (["begin", "count", "count"], "overshoot")
    assert 5 not in graph.states


def test_a_cycle_without_a_goal_is_a_trap() -> None:
    graph = explore(0, steps)
    found = [graph.states[each] for each in traps(graph, lambda number: number == 0)]
    assert found == [1, 7]


def test_a_cycle_through_a_goal_is_no_trap() -> None:
    graph = explore(0, steps)
    found = traps(graph, lambda number: number == 2)
    assert [graph.path(each) for each in found] == [["begin", "fault"]]
