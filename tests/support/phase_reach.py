"""Finds every state that an AppWrapper can reach, by following the decisions of `decide`.

A state is its phase, its True conditions and the periods of a deletion that have begun. Each state
is combined with the situations of phase_walk.py that fit it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from controller.phases import decide
from controller.phases.actions import Actions, MoveTo, RemoveFinalizer, SetCondition
from controller.phases.phase import Phase
from controller.phases.snapshot import Snapshot
from controller.phases.timers import evolve
from tests.support.phase_walk import CONFIG, LONG_AGO, NOW, every_snapshot

# The other periods may have begun or not, in any state.
_TIMERS: Final = ("forceful_deletion", "retry_pause")


@dataclass(frozen=True, slots=True)
class State:
    """One state of an AppWrapper."""

    phase: Phase
    conditions: frozenset[str] = frozenset()
    began: frozenset[str] = frozenset()  # names of timers


@dataclass(slots=True)
class Reach:
    """The reachable `states`, and the status and reasons that conditions get (`reported`)."""

    states: set[State] = field(default_factory=set)
    reported: set[tuple[str, bool, str]] = field(default_factory=set)

    def conditions_in(self, phase: Phase) -> list[frozenset[str]]:
        """Return the sets of True conditions that are possible in that phase."""
        return [state.conditions for state in self.states if state.phase is phase]


@cache
def explore() -> Reach:
    """Return the states that a new AppWrapper can reach."""
    situations = _by_phase()
    reach = Reach()
    unseen = {State(Phase.EMPTY)}
    while unseen:
        state = unseen.pop()
        reach.states.add(state)
        for snapshot in _fitting(state, situations[state.phase]):
            actions = decide(snapshot, NOW, CONFIG)
            after = _after(state, snapshot, actions)
            for action in actions:
                if isinstance(action, SetCondition) and not _repeats(action, snapshot):
                    reach.reported.add((action.type, action.status, action.reason.value))
            if after not in reach.states and RemoveFinalizer() not in actions:
                unseen.add(after)
    return reach


def _repeats(action: SetCondition, snapshot: Snapshot) -> bool:
    """True if only the message changes. A situation's reason need not fit the state."""
    current = snapshot.condition_texts.get(action.type)
    is_true = action.type in snapshot.conditions
    return current is not None and current.reason == action.reason and is_true is action.status


def _by_phase() -> dict[Phase, list[Snapshot]]:
    """Return one of each five situations: every combination occurs often enough in these.

    Situations that differ only in conditions and timers are needed once.
    """
    found: dict[Phase, list[Snapshot]] = {phase: [] for phase in Phase}
    for number, snapshot in enumerate(every_snapshot()):
        if number % 5 == 0:
            found[snapshot.phase].append(snapshot)
    return found


def _fitting(state: State, situations: Iterable[Snapshot]) -> Iterator[Snapshot]:
    for snapshot in situations:
        for since in (NOW, LONG_AGO):
            begun = {name: since if name in state.began else None for name in _TIMERS}
            timers = replace(snapshot.timers, **begun)
            yield replace(snapshot, conditions=state.conditions, timers=timers)
            if not state.began:
                break


def _after(state: State, snapshot: Snapshot, actions: Actions) -> State:
    phase, true = state.phase, set(state.conditions)
    for action in actions:
        match action:
            case MoveTo():
                phase = action.phase
            case SetCondition(type=kind, status=status):
                (true.add if status else true.discard)(kind)
            case _:
                pass
    timers = evolve(snapshot.timers, actions, NOW)
    began = frozenset(name for name in _TIMERS if getattr(timers, name) is not None)
    return State(phase, frozenset(true), began)
