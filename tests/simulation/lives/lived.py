"""Whole lives in virtual time: what an AppWrapper and its pods went through, step by step.

A life must break no promise, like every simulated run. Its test then checks the steps that it is
about.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import APPWRAPPERS, PODS, JsonObject, Resource, label
from shared.kube.responses import WatchEvent, WatchEventType
from tests.simulation.actors.kueue.settings import Settings
from tests.simulation.api.store import Write
from tests.simulation.choices import Recorded
from tests.simulation.scenarios import Act, Scenario
from tests.simulation.workloads import wrapped
from tests.simulation.world import World
from tests.support.builders.appwrappers import phase, version_of
from tests.support.life_record import phases

NAME = "a"
SETTINGS: Final = Settings(priorities={"low-priority": 100, "high-priority": 1000})


@dataclass(frozen=True, slots=True)
class Once:
    """An act at the moment when a state of AppWrapper `of` is first seen, or soon after it."""

    seen: Callable[[JsonObject], bool]
    do: Callable[[World], object]
    of: str = NAME
    after: float = 0.0


@dataclass(frozen=True, slots=True)
class Life:
    """The changes of one AppWrapper and of its pods, in etcd's order; `times` in seconds."""

    world: World
    name: str
    events: list[WatchEvent] = field(default_factory=list)
    pod_events: list[WatchEvent] = field(default_factory=list)
    times: dict[int, float] = field(default_factory=dict)

    def phases(self) -> list[str]:
        """Return its phases in order, each once in a row."""
        return phases(self)

    def first(self, seen: Callable[[JsonObject], bool], *, after: int = 0) -> JsonObject:
        """Return the first state with a resourceVersion above `after` for which `seen` is true."""
        for event in self.events:
            if version_of(event.object) > after and seen(event.object):
                return event.object
        raise AssertionError(f"no such state: {self.phases()}")

    def in_phase(self, wanted: str, *, after: int = 0) -> JsonObject:
        """Return the first state in that phase."""
        return self.first(lambda item: phase(item) == wanted, after=after)

    def at(self, item: JsonObject) -> float:
        """Return the second at which a state was written."""
        return self.times[version_of(item)]

    def left(self, resource: Resource) -> list[str]:
        """Return the names of its objects that exist at the end of the run."""
        last: dict[str, bool] = {}
        for write in _before_the_end(self.world, resource):
            if label(write.item, LABEL_APPWRAPPER) == self.name:
                last[write.item["metadata"]["name"]] = write.type != "DELETED"
        return [name for name, exists in last.items() if exists]


def live(
    *components: JsonObject,
    acts: tuple[Act | Once, ...] = (),
    beside: tuple[tuple[float, JsonObject], ...] = (),
    capacity: int = 6,
    periods: Mapping[str, str] = MappingProxyType({}),
    settings: Mapping[str, Any] = MappingProxyType({}),
    prepare: Callable[[JsonObject], None] = lambda body: None,
    arrange: Callable[[World], None] = lambda world: None,
    breaks: frozenset[str] = frozenset(),
    kueue: Settings = SETTINGS,
) -> Life:
    """Run AppWrapper `a` from its submission to its end. Fail if a promise was broken.

    `beside`: other AppWrappers, each with the second of its submission. `periods`: annotations
    without their prefix. `settings`: of the operator. `prepare` may change the AppWrapper before
    its submission, `arrange` the world before its run. `breaks`: the promises that it may break.
    `kueue`: its configuration.
    """
    body = wrapped(NAME, *components, periods=periods)
    prepare(body)
    timed = tuple(each for each in acts if isinstance(each, Act))
    scenario = Scenario("life", ((1.0, body), *beside), timed, capacity=capacity, kueue=kueue)
    world = World(Recorded(), scenario, keep_trace=True, settings=settings)
    arrange(world)
    for each in acts:
        if isinstance(each, Once):
            _arm(world, each)
    outcome = world.run()
    broken = [each for each in outcome.violations if each.kind not in breaks]
    assert broken == [], "\n".join(outcome.trace[-200:])
    return record(world, NAME)


def record(world: World, name: str) -> Life:
    """Return the life of one AppWrapper of a run that is over."""
    life = Life(world, name)
    for write in _before_the_end(world, APPWRAPPERS):
        if write.item["metadata"]["name"] == name:
            life.events.append(_event(write))
            life.times[write.revision] = write.at
    for write in _before_the_end(world, PODS):
        if label(write.item, LABEL_APPWRAPPER) == name:
            life.pod_events.append(_event(write))
    return life


def _before_the_end(world: World, resource: Resource) -> list[Write]:
    """Return the changes before the world itself deletes the remaining AppWrappers."""
    history = world.cluster.store.history[resource]
    return [each for each in history if each.revision <= world.over_at]


def _event(write: Write) -> WatchEvent:
    return WatchEvent(WatchEventType(write.type), write.item)


def _arm(world: World, once: Once) -> None:
    done: list[bool] = []

    def look(write: Write) -> None:
        ours = write.resource == APPWRAPPERS and write.item["metadata"]["name"] == once.of
        if ours and not done and once.seen(write.item):
            done.append(True)
            world.cluster.loop.outside(once.after, once.do, world)

    world.cluster.store.listeners.append(look)
