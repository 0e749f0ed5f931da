"""Questions about the recorded changes of one AppWrapper, on a real cluster or a simulated one."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, Protocol

from shared.api.objects import JsonObject
from shared.kube.responses import WatchEvent
from tests.support.builders.appwrappers import phase, true_conditions

QUOTA: Final = "QuotaReserved"
DEPLOYED: Final = "ResourcesDeployed"
READY: Final = "PodsReady"
UNHEALTHY: Final = "Unhealthy"
DELETING: Final = "DeletingResources"


class Recorded(Protocol):
    """The changes of one AppWrapper, in etcd's order."""

    @property
    def events(self) -> Sequence[WatchEvent]: ...


class Condition(NamedTuple):
    """The values of one condition."""

    status: str
    reason: str
    message: str


def condition(item: JsonObject, kind: str) -> Condition:
    """Returns a condition; fails if the AppWrapper has none of that type."""
    [found] = [each for each in item["status"]["conditions"] if each["type"] == kind]
    return Condition(found["status"], found["reason"], found["message"])


def phases(life: Recorded) -> list[str]:
    """Returns its phases in order, each once in a row.

    The first is followed by Suspended even if no status had it: Kueue may admit an AppWrapper
    before the controller writes that it waits.
    """
    return [step for (step,) in steps(life)]


def steps(life: Recorded, *conditions: str) -> list[tuple[str, ...]]:
    """Returns the phases, as `phases` does, each with its True conditions among `conditions`.

    Every change once. PodsReady comes after Running, even if both were one write: they are if the
    pods run within a second.
    """
    seen: list[tuple[str, ...]] = []
    for event in life.events:
        held = true_conditions(event.object)
        step = (phase(event.object), *(each for each in conditions if each in held))
        if seen == [("",)] and step[0] == "Resuming":
            seen.append(("Suspended",))
        if seen and seen[-1][0] == "Resuming" and step[0] == "Running":
            seen.append(tuple(each for each in step if each != READY))
        if not seen or seen[-1] != step:
            seen.append(step)
    return seen


def unhealthy_reasons(life: Recorded) -> list[str]:
    """Returns the reasons of Unhealthy while it was True, each once in a row."""
    seen: list[str] = []
    for event in life.events:
        if UNHEALTHY in true_conditions(event.object):
            reason = condition(event.object, UNHEALTHY).reason
            if seen[-1:] != [reason]:
                seen.append(reason)
    return seen


def slow_writes(life: Recorded) -> int:
    """Returns how many changes began or ended a wait that only a slow Kueue or node causes."""
    waits = []
    for event in life.events:
        timers = (event.object.get("status") or {}).get("timers") or {}
        waits.append([timers.get(each) for each in ("noWorkload", "queueReason", "podsTold")])
    return sum(before != after for before, after in pairwise(waits))


def revisions(life: Recorded, phases: Iterable[str]) -> dict[str, int]:
    """Returns phase → the revision at which it was first seen."""
    wanted = set(phases)
    found: dict[str, int] = {}
    for event in life.events:
        at = phase(event.object)
        if at in wanted:
            found.setdefault(at, int(event.object["metadata"]["resourceVersion"]))
    return found


def retries(item: JsonObject) -> int:
    """Returns the number of spent retries."""
    return int(item["status"].get("resettingCount", 0))
