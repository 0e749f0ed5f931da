"""States that an earlier version of the controller left behind, from which this version goes on.

`python -m tests.simulation.stored_worlds` records the states of the version that it runs, and adds
those whose phase and timers are not in the file yet. A state stays as it was recorded: objects of
that form are in users' clusters.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from shared.api.objects import APPWRAPPERS, EVENTS, JsonObject
from tests.simulation.acts import QUEUE
from tests.simulation.api.kinds import SERVED
from tests.simulation.api.store import Write
from tests.simulation.choices import Recorded
from tests.simulation.outcome import Outcome
from tests.simulation.scenarios import SCENARIOS
from tests.simulation.world import World

_HELD: Final = 20.0  # seconds
FILE: Final = Path("tests/golden/stored-worlds.jsonl")


@dataclass(frozen=True, slots=True)
class Stored:
    """All objects right after a write of the AppWrapper's status.

    `scenario` is the run that it is from, `at` the virtual second.
    """

    scenario: str
    at: float
    objects: Mapping[str, list[JsonObject]]

    @property
    def name(self) -> str:
        """Return the scenario, the phase, and the timers: one state of each is enough."""
        return _name(self.scenario, self.objects[APPWRAPPERS.plural][0])


class _Resumed(World):
    """A world that begins with stored objects, and a controller that has just started."""

    def __init__(self, stored: Stored) -> None:
        scenario = SCENARIOS[stored.scenario]
        acts = tuple(
            replace(each, at=each.at - stored.at) for each in scenario.acts if each.at > stored.at
        )
        super().__init__(Recorded(), replace(scenario, acts=acts))
        self._stored = stored

    def _begin(self) -> None:
        self.cluster.loop.now = self._stored.at
        store = self.cluster.store
        for item in self._stored.objects[APPWRAPPERS.plural]:
            self.invariants.continue_from(item)
        for resource in SERVED:
            for item in self._stored.objects.get(resource.plural, ()):
                store.restore(resource, item)
        for act in self.scenario.acts:
            self.cluster.loop.outside(act.at, self._act, act)
        # The end of a hold that began before.
        self.cluster.loop.outside(_HELD, self.acts.user.stop_cluster_queue, QUEUE, "None")


def resume(stored: Stored) -> Outcome:
    """Run from a stored state to the end."""
    return _Resumed(stored).run()


def read() -> list[Stored]:
    """Return the states of the file."""
    return [Stored(**json.loads(line)) for line in FILE.read_text().splitlines()]


def record(scenario: str) -> Iterator[Stored]:
    """Run a scenario and return its states, one of each phase and timers."""
    world = World(Recorded(), SCENARIOS[scenario])
    store, found = world.cluster.store, dict[str, Stored]()

    def see(write: Write) -> None:
        if write.resource != APPWRAPPERS or write.type == "DELETED" or world.over_at:
            return
        name = _name(scenario, write.item)
        if name not in found:
            kept = (each for each in SERVED if each != EVENTS and store.items(each))
            objects = {each.plural: store.items(each) for each in kept}
            found[name] = Stored(scenario, world.cluster.loop.now, objects)

    store.listeners.append(see)
    world.run()
    yield from found.values()


def _name(scenario: str, item: JsonObject) -> str:
    status = item.get("status") or {}
    timers = "+".join(sorted(status.get("timers") or {}))
    return f"{scenario}: {status.get('phase') or 'new'} {timers}".rstrip()


def _state(name: str) -> str:
    return name.partition(": ")[2]


def main() -> int:
    """Add the states that the file does not have."""
    stored = read() if FILE.exists() else []
    known = {_state(each.name) for each in stored}
    for scenario in SCENARIOS:
        for each in record(scenario):
            if _state(each.name) not in known:
                known.add(_state(each.name))
                stored.append(each)
    lines = (
        json.dumps({"scenario": each.scenario, "at": each.at, "objects": each.objects})
        for each in stored
    )
    FILE.write_text("".join(f"{line}\n" for line in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
