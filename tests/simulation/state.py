"""Name the state of a simulated cluster, so that a state that was explored before is recognised.

After a crash the process remembers nothing. So the objects, the requests on their way, and the
steps that the actors have arranged decide everything that follows. Two states are the same if these
are equal up to UIDs, revisions, generated names, and the time of day: of times only the distance
from now counts, in thousandths of a second, and only where a program waits for it.
"""

import dataclasses
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import orjson

from shared.api.objects import EVENTS, JsonObject
from shared.api.times import parse_time
from tests.simulation.actors.actor import Actor
from tests.simulation.api.client import SimulatedClient
from tests.simulation.api.store import Store
from tests.simulation.cluster import Cluster
from tests.simulation.faults import _Attempt
from tests.simulation.loop import EPOCH

# No program waits for these, or for these times: the product reads its own `timers`.
_IGNORED: Final = frozenset(
    {"resourceVersion", "managedFields", "generation", "observedGeneration"}
)
_PAST: Final = frozenset(
    {
        "creationTimestamp",
        "lastTransitionTime",
        "lastProbeTime",
        "lastHeartbeatTime",
        "renewTime",
        "acquireTime",
        "startTime",
        "startedAt",
        "finishedAt",
        "completionTime",
    }
)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_SIMPLE: Final = (str, int, float, bool, type(None))


def state_of(cluster: Cluster) -> str:
    """Return a hash of everything that decides what follows, if no process of the product runs."""
    names = _Names(cluster)
    objects = [
        (resource.plural, names.of(_without_noise(item)))
        for resource in cluster.store.history
        if resource is not EVENTS
        for item in cluster.store.items(resource)
    ]
    owners = [getattr(each, "__self__", None) for each in cluster.store.listeners]
    programs = [names.of(_fields(each)) for each in owners if isinstance(each, Actor)]
    steps = sorted(names.of(step) for step in _steps(cluster))
    causes = [names.of(each) for each in cluster.causes.by_uid.items()]
    parts = (objects, programs, steps, causes)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _without_noise(value: Any) -> Any:
    match value:
        case dict():
            return {
                key: "" if key in _PAST else _without_noise(each)
                for key, each in value.items()
                if key not in _IGNORED
            }
        case list():
            return [_without_noise(each) for each in value]
    return value


class _Names:
    """Replaces UIDs and generated names by their order of creation, and times by distances."""

    def __init__(self, cluster: Cluster) -> None:
        self._now = cluster.loop.now
        self._known: dict[str, str] = {}
        for resource in cluster.store.history:
            if resource is EVENTS:
                continue
            for number, item in enumerate(cluster.store.items(resource)):
                metadata = item["metadata"]
                self._known[metadata["uid"]] = f"<{resource.plural} {number}>"
                if _is_generated(metadata):
                    self._known[metadata["name"]] = f"<{resource.plural} name {number}>"
        words = sorted(self._known, key=len, reverse=True)
        self._words = re.compile("|".join(map(re.escape, words)) or r"\b\B")

    def of(self, value: Any) -> str:
        """Return the value as a text with these replacements."""
        text = orjson.dumps(value, default=_plain, option=_OPTIONS).decode()
        return _TIME.sub(self._distance, self._words.sub(self._number, text))

    def _number(self, match: re.Match[str]) -> str:
        return self._known[match[0]]

    def _distance(self, match: re.Match[str]) -> str:
        seconds = (parse_time(match[0]) - EPOCH).total_seconds() - self._now
        return f"now{seconds:+.3f}"


_OPTIONS: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS


def _is_generated(metadata: JsonObject) -> bool:
    return bool(metadata.get("ownerReferences")) or "generateName" in metadata


def _plain(value: Any) -> Any:
    """Return what orjson does not know as what it knows."""
    match value:
        case set() | frozenset():
            return sorted(repr(each) for each in value)
        case Mapping():
            return dict(value)
        case bytes():
            return value.decode(errors="replace")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    return type(value).__name__


def _fields(program: Actor) -> dict[str, Any]:
    """Return the fields of a program that hold its own data. Numbers with a fraction are times."""
    now = program.cluster.loop.now
    return {
        name: _since(value, now)
        for name, value in sorted(vars(program).items())
        if isinstance(value, (*_SIMPLE, dict, list, set, tuple, frozenset))
    }


def _since(value: Any, now: float) -> Any:
    match value:
        case float():
            return round(value - now, 3)
        case dict():
            return {str(key): _since(each, now) for key, each in value.items()}
        case list() | tuple():
            return [_since(each, now) for each in value]
    return value


def _steps(cluster: Cluster) -> Iterable[Any]:
    """Yield what is arranged: who does what, and in how many seconds."""
    for when, handle in cluster.loop.arranged():
        callback, args = handle._callback, tuple(handle._args)  # type: ignore[attr-defined]
        step = _step(callback, args)
        if step is not None:
            yield [*step, round(when - cluster.loop.now, 3)]
    for writes in cluster.postponed.values():
        yield from (_step(each, ()) for each in writes)


def _step(callback: Callable[..., object], args: tuple[Any, ...]) -> list[Any] | None:
    """Return a step by its name and subject; None for one that has no effect on the cluster."""
    module = getattr(callback, "__module__", None) or type(callback).__module__
    name = getattr(callback, "__qualname__", type(callback).__name__)
    owner = getattr(callback, "__self__", None)
    if not module.startswith("tests.simulation") or name in WITHOUT_EFFECT:
        return None
    match owner:
        case SimulatedClient():
            act, place, *_ = args
            return [name, place, _closure(act)]
        case _Attempt():
            return [name, owner.place, _closure(owner._act)]
        case Cluster():
            return None
    return [name, *args]


# Steps that only a crashed process waits for, and steps that only check a promise.
WITHOUT_EFFECT: Final = frozenset(
    {
        "_deliver",
        "Stream._arrive",
        "Stream.end",
        "Processes._reap",
        "Strays.check_later.<locals>.later",
        "Invariants._must_have_noticed",
    }
)


def _closure(act: Callable[..., object]) -> list[Any]:
    """Return the data of a request that is on its way."""
    cells = [each.cell_contents for each in getattr(act, "__closure__", None) or ()]
    return [each for each in cells if not callable(each) and not isinstance(each, Store)]
