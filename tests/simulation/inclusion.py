"""Trace inclusion: can an actor make each write that was recorded on a real cluster?

Before each write the recorded state is loaded into a simulated cluster in which one actor acts
alone. The write is explained if the actor brings the object into the same state, by default or
after one pick of another option. States are compared in what the controller reads.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from shared.api.names import LABEL_UID
from shared.api.objects import APPWRAPPERS, NAMESPACES, NODES, PODS, JsonObject, Resource, label
from shared.kinds.job import JOBS
from tests.simulation.actors.actor import Actor
from tests.simulation.actors.garbage_collector import GarbageCollector
from tests.simulation.actors.job_controller import JobController
from tests.simulation.actors.kubelet import Kubelet
from tests.simulation.actors.node_lifecycle import NodeLifecycle
from tests.simulation.actors.objects import seconds_of
from tests.simulation.actors.pod_gc import PodGc
from tests.simulation.actors.scheduler import Scheduler
from tests.simulation.api.store import Store, Write, WriteType, key_of
from tests.simulation.choices import Recorded
from tests.simulation.cluster import Cluster
from tests.simulation.projection import projected
from tests.support.observer.recording import patched

_RESOURCES: Final = {each.plural: each for each in (PODS, JOBS, APPWRAPPERS, NODES)}
_MANAGERS: Final[Mapping[str, tuple[type[Actor], ...]]] = {
    "kube-controller-manager": (JobController, GarbageCollector, PodGc, NodeLifecycle),
    "kube-scheduler": (Scheduler,),
    "kubelet": (Kubelet,),
    "kwok": (Kubelet,),
}
# The recorded resources that each actor writes.
_WRITES: Final[Mapping[type[Actor], tuple[Resource, ...]]] = {
    JobController: (JOBS, PODS),
    GarbageCollector: (JOBS, PODS),
    Kubelet: (PODS,),
    Scheduler: (PODS,),
    PodGc: (PODS,),
    NodeLifecycle: (NODES, PODS),
}
# The controller under test deletes only in these phases.
_DELETES: Final = frozenset({"Resetting", "Suspending", "Terminating", "Failed"})
_HORIZON: Final = 90.0
_STALE: Final = 3.0
"""For how many seconds a program may act on an older state of the other objects: their writes
commute with its own."""


@dataclass(frozen=True, slots=True)
class Step:
    """One recorded write. `at` is in seconds since the recording's start."""

    number: int
    at: float
    resource: Resource
    type: WriteType
    writers: tuple[str, ...]
    old: JsonObject | None
    new: JsonObject

    @property
    def uid(self) -> str:
        return str(self.new["metadata"]["uid"])

    def __str__(self) -> str:
        name = self.new["metadata"]["name"]
        what = f"{self.number}. {self.at:.3f} {self.type} {self.resource.plural}/{name}"
        by = ", ".join(self.writers) or "unknown"
        return f"{what} by {by}: {projected(self.resource, self.new)}"


State = dict[str, tuple[Resource, JsonObject]]
"""Objects by UID."""


class Life:
    """A recorded life: its steps, and the state before each."""

    def __init__(self, content: JsonObject) -> None:
        self.acts = frozenset(content["acts"])
        state: State = {
            each["object"]["metadata"]["uid"]: (_RESOURCES[each["resource"]], each["object"])
            for each in content["objects"]
        }
        self.states: list[State] = []
        self.steps: list[Step] = []
        for number, write in enumerate(content["writes"]):
            self.states.append(state)
            resource, uid = _RESOURCES[write["resource"]], write["uid"]
            _, old = state.get(uid, (resource, None))
            new = patched(old, write["patch"])
            writers = tuple(write["writers"])
            self.steps.append(Step(number, write["at"], resource, write["type"], writers, old, new))
            state = {key: value for key, value in state.items() if key != uid}
            if write["type"] != "DELETED":
                state[uid] = resource, new
        created = next(each for each in self.steps if each.type == "ADDED")
        self.began = seconds_of(created.new["metadata"]["creationTimestamp"]) - created.at

    def views(self, step: Step) -> Iterator[State]:
        """Yield the state before the step, then older ones of the other objects."""
        latest = self.states[step.number]
        for number in range(step.number, -1, -1):
            if self.steps[number].at < step.at - _STALE:
                return
            view = {key: each for key, each in self.states[number].items() if key != step.uid}
            if step.uid in latest:
                view[step.uid] = latest[step.uid]
            yield view


def explanation(life: Life, step: Step) -> str:
    """Return which program can have made the write; empty if none can."""
    known = [actor for each in step.writers for actor in _MANAGERS.get(each, ())]
    others = [each for each in step.writers if each not in _MANAGERS]
    if others and not known:
        return f"another program: {', '.join(others)}"
    if step.old is not None and step.type == "MODIFIED" and _reads_as_before(step):
        return "no change that is read"
    able = [each for each in dict.fromkeys(known or _WRITES) if step.resource in _WRITES[each]]
    for search in (_by_default, _after_one_pick, _from_older_views, _after_watching):
        for actor in able:
            if search(actor, life, step):
                return actor.__name__
    if step.writers:
        return f"another program: {', '.join(others)}" if others else ""
    return _deleter(life, step)


def _reads_as_before(step: Step) -> bool:
    return projected(step.resource, step.old or {}) == projected(step.resource, step.new)


def _by_default(actor: type[Actor], life: Life, step: Step) -> bool:
    return _makes(actor, life.states[step.number], step, life.began, Recorded())


def _after_one_pick(actor: type[Actor], life: Life, step: Step) -> bool:
    picks, state = Recorded(), life.states[step.number]
    _makes(actor, state, step, life.began, picks)
    return any(
        _makes(actor, state, step, life.began, Recorded({(pick.place, pick.number): index}))
        for pick in picks.picks
        if "sees" not in pick.place  # alone, an actor does the same later
        for index in range(1, pick.options)
    )


def _from_older_views(actor: type[Actor], life: Life, step: Step) -> bool:
    views = life.views(step) if actor is JobController else ()
    return any(_makes(actor, view, step, life.began, Recorded()) for view in views)


def _after_watching(actor: type[Actor], life: Life, step: Step) -> bool:
    """True if the actor makes the write from what it remembers of the life until then."""
    if actor is not JobController:
        return False  # only it remembers anything: when its pods failed
    cluster, start = Cluster(Recorded(), keep_trace=False), life.began
    cluster.loop.now = start
    cluster.store = muted = _Muted(cluster.loop.time)
    _load(muted, life.states[0])
    _load_namespace(cluster, life.states[0], step)
    acting = actor(cluster)
    for earlier in life.steps[: step.number]:
        cluster.loop.call_at(start + earlier.at, muted.show, earlier)
    cluster.loop.call_at(start + step.at - 0.1, cluster.loop.stop)
    cluster.loop.run_forever()
    muted.is_muted = False
    return _acts(cluster, acting, step)


class _Muted(Store):
    """A store that takes no write while it is muted: it only shows what was recorded."""

    is_muted = True

    def show(self, step: Step) -> None:
        write = Write(step.resource, step.type, step.new, step.old, 0, self._now())
        if step.type == "DELETED":
            del self._tables[step.resource][key_of(step.new)]
        else:
            self.load(step.resource, step.new)
        for listener in self.listeners:
            listener(write)

    def _commit(
        self, resource: Resource, kind: WriteType, item: JsonObject, old: JsonObject | None
    ) -> JsonObject:
        return item if self.is_muted else super()._commit(resource, kind, item, old)


def _deleter(life: Life, step: Step) -> str:
    """Return who deleted the object, if it was the test, or the controller under test."""
    if step.uid in life.acts or step.resource == APPWRAPPERS:
        return "the test"
    owner = label(step.new, LABEL_UID)
    _, found = life.states[step.number].get(owner or "", (None, {}))
    phase = (found.get("status") or {}).get("phase")
    return "the controller under test" if phase in _DELETES else ""


def _makes(actor: type[Actor], view: State, step: Step, began: float, choices: Recorded) -> bool:
    cluster = Cluster(choices, keep_trace=False)
    cluster.loop.now = began + step.at - 1.0
    _load(cluster.store, view)
    _load_namespace(cluster, view, step)
    return _acts(cluster, actor(cluster), step)


def _load(store: Store, state: State) -> None:
    for resource, item in state.values():
        store.load(resource, item)


def _acts(cluster: Cluster, acting: Actor, step: Step) -> bool:
    """True if the actor, alone in the cluster, makes the write before long."""
    found: list[bool] = []

    def compare(write: Write) -> None:
        if write.resource == step.resource and is_same(write, step):
            found.append(True)
            cluster.loop.stop()

    cluster.store.listeners.append(compare)
    for resource in _RESOURCES.values():
        for item in cluster.store.items(resource):
            for key in acting.wants(Write(resource, "ADDED", item, None, 0, cluster.loop.now)):
                acting.later(key)
    cluster.loop.call_later(_HORIZON, cluster.loop.stop)
    cluster.loop.run_forever()
    return bool(found)


def _load_namespace(cluster: Cluster, view: State, step: Step) -> None:
    for _, item in [*view.values(), (step.resource, step.new)]:
        name = item["metadata"].get("namespace")
        if name and cluster.store.get(NAMESPACES, None, name) is None:
            cluster.store.create(NAMESPACES, None, {"metadata": {"name": name}})


def is_same(write: Write, step: Step) -> bool:
    """True if the simulated write is the recorded one, in what the controller reads."""
    if write.type != step.type:
        return False
    if step.type != "ADDED" and write.item["metadata"]["uid"] != step.uid:
        return False
    if step.type == "DELETED":
        return True
    return projected(write.resource, write.item) == projected(step.resource, step.new)


Counts = dict[str, int]


def explained(
    life: Life, tell: Callable[[str], Any] = lambda text: None
) -> tuple[Counts, list[str]]:
    """Return how many steps each program explains, and the steps without an explanation."""
    counts: Counts = {}
    missing: list[str] = []
    for step in life.steps:
        why = explanation(life, step)
        tell(f"{why or 'NO EXPLANATION'}: {step}")
        if why:
            counts[why] = counts.get(why, 0) + 1
        else:
            missing.append(str(step))
    return counts, missing
