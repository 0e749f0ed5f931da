"""Follow every step of a small machine from its start; find wrong states and traps.

A step is fair if it happens sooner or later in every run: the environment makes progress. All other
steps are faults or acts of users, which may happen or not. A trap is a set of states that no fair
step leaves and that has no goal: a run that ends there waits forever.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

S = TypeVar("S", bound=Hashable)

NO_STATE: Final = -1


@dataclass(frozen=True, slots=True)
class Step(Generic[S]):
    """A step to the state `to`. `wrong`: the promise that it breaks; empty if it breaks none."""

    name: str
    to: S
    fair: bool = True
    wrong: str = ""


@dataclass(slots=True)
class Graph(Generic[S]):
    """The reachable states in the order in which they were found, with their steps by number."""

    states: list[S] = field(default_factory=list)
    fair: list[list[int]] = field(default_factory=list)
    steps: int = 0
    # By state: the number of the state from which it was found first, and the name of the step.
    found_by: list[tuple[int, str]] = field(default_factory=list)
    wrong: dict[str, tuple[int, str]] = field(default_factory=dict)  # promise → state, step

    def path(self, number: int) -> list[str]:
        """Return the names of the steps that lead from the start to a state; a shortest way."""
        names: list[str] = []
        while number != NO_STATE:
            number, name = self.found_by[number]
            names.append(name)
        return names[-2::-1]


def explore(
    start: S,
    steps_from: Callable[[S], Iterable[Step[S]]],
    tell: Callable[[int, int], None] = lambda _states, _unseen: None,
) -> Graph[S]:
    """Return the graph of all reachable states. `tell` receives the states found and to be read."""
    graph: Graph[S] = Graph([start], [[]], 0, [(NO_STATE, "")])
    numbers = {start: 0}
    number = 0
    while number < len(graph.states):
        for step in steps_from(graph.states[number]):
            graph.steps += 1
            if step.wrong:
                graph.wrong.setdefault(step.wrong, (number, step.name))
                continue  # the states behind a broken promise show nothing new
            to = numbers.setdefault(step.to, len(numbers))
            if to == len(graph.states):
                graph.states.append(step.to)
                graph.fair.append([])
                graph.found_by.append((number, step.name))
            if step.fair:
                graph.fair[number].append(to)
        number += 1
        if number % 5000 == 0:
            tell(number, len(graph.states) - number)
    return graph


def traps(graph: Graph[S], is_goal: Callable[[S], bool]) -> list[int]:
    """Return one state of each trap, the first that was found."""
    found = []
    for component in _components(graph.fair):
        inside = set(component)
        leaves = any(to not in inside for number in component for to in graph.fair[number])
        if not leaves and not any(is_goal(graph.states[number]) for number in component):
            found.append(min(component))
    return sorted(found)


def _components(edges: list[list[int]]) -> Iterator[list[int]]:
    """Yield the strongly connected components (Tarjan's algorithm, without recursion)."""
    index = [NO_STATE] * len(edges)
    low = [0] * len(edges)
    on_stack = [False] * len(edges)
    stack: list[int] = []
    count = 0
    for root in range(len(edges)):
        if index[root] != NO_STATE:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = count
        count += 1
        stack.append(root)
        on_stack[root] = True
        while work:
            number, rest = work[-1]
            for to in rest:
                if index[to] == NO_STATE:
                    index[to] = low[to] = count
                    count += 1
                    stack.append(to)
                    on_stack[to] = True
                    work.append((to, iter(edges[to])))
                    break
                if on_stack[to]:
                    low[number] = min(low[number], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[number])
                if low[number] == index[number]:
                    yield _popped(stack, on_stack, number)


def _popped(stack: list[int], on_stack: list[bool], last: int) -> list[int]:
    component = []
    while True:
        number = stack.pop()
        on_stack[number] = False
        component.append(number)
        if number == last:
            return component
