"""Run a scenario under every deviation within bounds: single ones, then pairs.

A deviation is another option than the default at one pick: a fault at a write, an event that comes
late, an actor that takes its time. The n-th pick at a place is the same in all runs until the first
deviation, so a second deviation is looked for in the run with the first one, and only behind it.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tests.simulation.choices import Pick, Recorded
from tests.simulation.faults import (
    EVENT_DELAYS,
    OTHER_CLIENTS,
    READ_FAULTS,
    WATCH_FAULTS,
    WRITE_FAULTS,
)
from tests.simulation.outcome import Outcome, Violation
from tests.simulation.scenarios import Scenario
from tests.simulation.state import state_of
from tests.simulation.world import World

Place = tuple[str, int]
Deviation = tuple[Place, int]

OPTIONS: Final[Mapping[str, Sequence[object]]] = {
    "write": WRITE_FAULTS,
    "read": READ_FAULTS,
    "watch": WATCH_FAULTS,
    "event": EVENT_DELAYS,
}
"""The options of the families whose options have names."""

CRASHES: Final = frozenset({"crash before", "crash after"})
Space = Mapping[str, frozenset[object]]
"""By family, the options that are tried. Other families keep their default."""

AT_WRITES: Final[Space] = {"write": frozenset({"crash after", "lost answer", "late 6"})}
"""The gravest faults at writes: `make test` runs them for every scenario."""
LATE_EVENTS: Final[Space] = {"event": frozenset({6.0})}
LATE_EVENTS_OF: Final = frozenset({"retry", "suspend", "delete", "component deleted"})
"""The scenarios for which `make test` runs them."""
OTHERS: Final[Space] = {"write": OTHER_CLIENTS}
"""Another client acts once, between a write and its answer."""


def family_of(place: str) -> str:
    """Return the first word of a place: what kind of choice it is."""
    return place.partition(" ")[0]


def tried(pick: Pick, space: Space) -> Iterator[Deviation]:
    """Yield each deviation at this pick that is in the space."""
    family = family_of(pick.place)
    wanted = space.get(family)
    if wanted is None:
        return
    named = OPTIONS.get(family, range(pick.options))
    for index in range(1, pick.options):
        if named[index] in wanted:
            yield (pick.place, pick.number), index


def name_of(deviation: Deviation) -> str:
    """Return the name of a deviation: `place, time N: option`."""
    (place, number), index = deviation
    named = OPTIONS.get(family_of(place))
    option = f"option {index}" if named is None else named[index]
    return f"{place}, time {number}: {option}"


@dataclass(frozen=True, slots=True)
class Trial:
    """One run to do: a scenario and its deviations, in the order in which they happen."""

    scenario: Scenario
    deviations: tuple[Deviation, ...] = ()

    def then(self, deviation: Deviation) -> "Trial":
        return replace(self, deviations=(*self.deviations, deviation))

    def __str__(self) -> str:
        return f"{self.scenario.name}: {'; '.join(map(name_of, self.deviations)) or 'no fault'}"


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a trial.

    `behind`: the picks after its last deviation. `state`: the state after the crash that was its
    last deviation; empty without one. `is_known`: that state was explored before, so the run ended
    there.
    """

    trial: Trial
    violations: tuple[Violation, ...]
    behind: tuple[Pick, ...] = ()
    state: str = ""
    is_known: bool = False


class Explored(World):
    """A world that names its state at the crash that is its last deviation."""

    def __init__(self, trial: Trial, known: set[str], *, keep_trace: bool = False) -> None:
        choices = Recorded(dict(trial.deviations))
        super().__init__(choices, trial.scenario, keep_trace=keep_trace)
        self.state = ""
        self.is_known = False
        self._last = trial.deviations[-1] if trial.deviations else None
        self._known = known
        self._abandoned = asyncio.Event()
        self.faults.crash = self._crash

    def _crash(self, life: str, why: str) -> None:
        self.processes.crash(life, why)
        last = self._last
        if last is None or self.state or self.processes.running or self._next() is not last:
            return
        self.state = state_of(self.cluster)
        self.is_known = self.state in self._known
        self._known.add(self.state)
        if self.is_known:
            self._abandoned.set()

    def _next(self) -> Deviation | None:
        """Return the last deviation if it has happened."""
        last = self._last
        return last if last and last[0] in self.cluster.choices.deviations else None

    async def _live(self) -> None:
        whole = asyncio.create_task(super()._live())
        abandoned = asyncio.create_task(self._abandoned.wait())
        await asyncio.wait({whole, abandoned}, return_when=asyncio.FIRST_COMPLETED)
        abandoned.cancel()
        if self.is_known:
            whole.cancel()
            await self.processes.stop()
            self.ends: dict[str, str] = {}
        else:
            await whole


def run(trial: Trial, known: set[str]) -> Report:
    """Run a trial, unless the state after its last deviation is among the `known` ones."""
    world = Explored(trial, known)
    outcome = world.run()
    behind = tuple(_behind(outcome, trial))
    return Report(trial, outcome.violations, behind, world.state, world.is_known)


def _behind(outcome: Outcome, trial: Trial) -> Iterator[Pick]:
    """Yield the picks after the last deviation, without those that have no other option."""
    last = trial.deviations[-1][0] if trial.deviations else None
    seen = last is None
    for pick in outcome.picks:
        if seen and pick.options > 1:
            yield pick
        seen = seen or (pick.place, pick.number) == last


def next_trials(report: Report, space: Space, within: int | None = None) -> Iterator[Trial]:
    """Yield the trials with one more deviation of the space, behind the report's last one.

    With `within` only at that many places of the space behind it: the delay bound.
    """
    picks = [each for each in report.behind if family_of(each.place) in space]
    for pick in picks[:within]:
        for deviation in tried(pick, space):
            yield report.trial.then(deviation)
