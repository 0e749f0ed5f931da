"""The handshake between Kueue and the controller: the steps of the AppWrappers' lives.

The same lives on the real Kueue and on the simulated one have the same steps, in the same order.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from shared.api.conditions import conditions_of, is_true
from shared.api.names import CONDITION_QUOTA_RESERVED
from shared.api.objects import APPWRAPPERS, JsonObject, Resource, controller_of
from shared.waits.workload import WORKLOADS
from tests.simulation.actors.kueue.settings import Settings
from tests.simulation.api.store import Write
from tests.simulation.choices import Recorded
from tests.simulation.scenarios import Act, Scenario
from tests.simulation.workloads import job, wrapped
from tests.simulation.world import World
from tests.support.builders.autopilot import GPU

_OF_WORKLOADS: Final = ("QuotaReserved", "Admitted", "Evicted", "Preempted", "Requeued", "Finished")
# If these are False, their reasons are for people: the scheduler writes them beside the others.
_ONLY_TRUE: Final = ("QuotaReserved", "Admitted")
_ENDS: Final = ("Succeeded", "Failed")
_PRIORITIES: Final = {"low-priority": 1, "high-priority": 10}


class Change(NamedTuple):
    """One write. `new` is None after the deletion."""

    resource: Resource
    old: JsonObject | None
    new: JsonObject | None


class Steps(NamedTuple):
    """`handshake` is ordered over all objects. `aside` has streams that may run beside it."""

    handshake: list[str]
    aside: dict[str, list[str]]


def steps_of(changes: Iterable[Change]) -> Steps:
    """Return the steps. Facts that change in one write are one step."""
    found = Steps([], {})
    for change in changes:
        item = change.new or change.old or {}
        title = _title(change.resource, item)
        if changed := _changed(
            _facts(change.resource, change.old), _facts(change.resource, change.new)
        ):
            found.handshake.append(f"{title}: {changed}")
        for stream, read in (("pods", _pods), ("quota", _quota), ("end", _end)):
            before, now = read(change.old), read(change.new)
            if change.resource == WORKLOADS and now and before != now:
                found.aside.setdefault(f"{title}, {stream}", []).append(now)
    return found


def _title(resource: Resource, item: JsonObject) -> str:
    owner = controller_of(item) if resource == WORKLOADS else None
    return f"{resource.kind} {owner.name if owner else item['metadata']['name']}"


def _changed(old: dict[str, str], new: dict[str, str]) -> str:
    changed = [key for key in sorted({*old, *new}) if old.get(key, "") != new.get(key, "")]
    return ", ".join(f"{key}={new.get(key, '')}" for key in changed)


def _facts(resource: Resource, item: JsonObject | None) -> dict[str, str]:
    if item is None:
        return {}
    return dict(_of_workload(item) if resource == WORKLOADS else _of_appwrapper(item))


def _of_appwrapper(item: JsonObject) -> Iterator[tuple[str, str]]:
    spec, status = item["spec"], item.get("status") or {}
    yield "suspended", str(spec.get("suspend") is True)
    yield "assigned", str(any(each.get("podSetInfos") for each in spec["components"]))
    yield "deleted", str("deletionTimestamp" in item["metadata"])
    yield "holds quota", str(is_true(conditions_of(status), CONDITION_QUOTA_RESERVED))
    if status.get("phase") in _ENDS:
        yield "phase", str(status["phase"])


def _of_workload(item: JsonObject) -> Iterator[tuple[str, str]]:
    yield "active", str(item["spec"].get("active") is not False)
    for each in conditions_of(item.get("status") or {}):
        if each["type"] in _ONLY_TRUE and each["status"] == "False":
            continue
        if each["type"] in _OF_WORKLOADS:
            yield each["type"], f"{each['status']} {each['reason']}"


def _pods(item: JsonObject | None) -> str:
    return _condition(item, "PodsReady")


def _quota(item: JsonObject | None) -> str:
    return _condition(item, "QuotaReserved")


def _condition(item: JsonObject | None, kind: str) -> str:
    found = conditions_of((item or {}).get("status") or {})
    return next((f"{c['status']} {c['reason']}" for c in found if c["type"] == kind), "")


def _end(item: JsonObject | None) -> str:
    if item is None:
        return "gone"
    going = "being deleted, " if "deletionTimestamp" in item["metadata"] else ""
    return going + ("held" if item["metadata"].get("finalizers") else "free")


def difference(simulated: list[str], real: list[str]) -> str:
    """Return the first step in which two handshakes differ; empty if there is none.

    The steps in `aside` are not compared: the real Kueue writes them from old readings, too. It
    reported WaitForRecovery twice for one eviction.
    """
    for number in range(max(len(simulated), len(real))):
        pair = [each[number : number + 1] for each in (simulated, real)]
        if pair[0] != pair[1]:
            return f"step {number + 1}: simulated {pair[0]}, really {pair[1]}"
    return ""


def prioritized(name: str, priority: str, run_for: str) -> JsonObject:
    """Build an AppWrapper whose one pod needs more than half of the simulated quota."""
    body = job(name, 1, run_for=run_for)
    spec = body["spec"]["template"]["spec"]
    spec["priorityClassName"] = priority
    spec["containers"][0]["resources"] = {"requests": {GPU: "4"}}
    return wrapped(name, body)


def simulated(*appwrappers: tuple[float, JsonObject], acts: tuple[Act, ...] = ()) -> Steps:
    """Run AppWrappers on the simulated Kueue; the run ends by deleting them."""
    scenario = Scenario("life", appwrappers, acts, kueue=Settings(priorities=_PRIORITIES))
    world = World(Recorded(), scenario)
    changes: list[Change] = []

    def note(write: Write) -> None:
        if write.resource in (APPWRAPPERS, WORKLOADS):
            new = None if write.type == "DELETED" else write.item
            changes.append(Change(write.resource, write.old, new))

    world.cluster.store.listeners.append(note)
    world.run()
    return steps_of(changes)
