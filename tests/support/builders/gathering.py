"""Builds a gatherer with caches and a server that contain a test's objects."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, cast

from controller.facts.appwrapper_outline import project_appwrapper
from controller.facts.components import ComponentFacts, project_component
from controller.facts.devices import HeldTaints, nothing_held
from controller.facts.evacuation import UNWATCHED_NODES, NodeTags
from controller.facts.observe import Observation, Reads
from controller.facts.pods import Pod, project_pod
from controller.facts.unexpected_objects import Owned
from controller.facts.unschedulable import NoNode
from controller.gather.component_reads import ComponentLocator
from controller.gather.live_pods import LivePods
from controller.gather.snapshot_gatherer import SnapshotGatherer
from controller.gather.unserved_kinds import UnservedKinds
from controller.memory.memory import Memory
from controller.phases.ask import Ask, Need
from controller.phases.decide import next_step
from controller.phases.snapshot import CreateProblem, Presence
from shared.api.objects import CONFIGMAPS, NODES, PODS, GroupVersionKind, Resource
from shared.config.configuration import AppWrapperConfig
from shared.kinds.scaled import REPLICA_SETS
from shared.kube.client import NotFound
from shared.kube.discovery import UnknownKind
from tests.support.cluster.resources import JOBS
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.fake_kube import FakeKube

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = ("team1", "train")
NOT_FOUND = NotFound(404, "NotFound", "gone")
CREATED = {"type": "ResourcesDeployed", "status": "True"}


class FakeDiscovery:
    """Discovery of a server that serves these resources."""

    def __init__(self) -> None:
        self.forgotten: list[GroupVersionKind] = []
        self.asked_anew: list[GroupVersionKind] = []
        self.more: tuple[Resource, ...] = ()
        self.hidden: set[str] = set()  # groups and Kinds that are not served

    def moment(self) -> int:
        return 0

    async def in_any_version(self, gvk: GroupVersionKind, *, since: int | None = None) -> Resource:
        if since is not None:
            self.asked_anew.append(gvk)
        for resource in (JOBS, CONFIGMAPS, NODES, PODS, REPLICA_SETS, *self.more):
            if gvk.group_kind == resource.gvk.group_kind and gvk.group_kind not in self.hidden:
                return resource
        raise UnknownKind(gvk, "")

    async def resource_for(self, gvk: GroupVersionKind, *, since: int | None = None) -> Resource:
        for resource in (JOBS, CONFIGMAPS, NODES, PODS, REPLICA_SETS, *self.more):
            if gvk == resource.gvk:
                return resource
        raise UnknownKind(gvk, "")

    def forget(self, gvk: GroupVersionKind) -> None:
        self.forgotten.append(gvk)


class Watches:
    """The objects that informers would have seen."""

    def __init__(self, facts: ComponentFacts | None, last: ComponentFacts | None) -> None:
        self._facts = facts
        self._last = last
        self.observed: list[Any] = []
        self.unserved: list[GroupVersionKind] = []
        self.watched = True
        self.refused = False
        self.silent: set[Resource] = set()
        self.more: tuple[Resource, ...] = ()
        self.others: list[Owned] = []  # objects of no recorded name

    def set(self, facts: ComponentFacts | None) -> None:
        self._facts = facts

    async def ensure(self, resource: Resource) -> None:
        assert resource in (JOBS, CONFIGMAPS, *self.more)

    def is_watched(self, resource: Resource) -> bool:
        return self.watched

    def is_refused(self, resource: Resource) -> bool:
        return self.refused

    def fall_silent(self, resource: Resource) -> None:
        self.silent.add(resource)

    def is_silent(self, resource: Resource) -> bool:
        return resource in self.silent

    def known(self, resource: Resource, namespace: str, name: str, uid: str) -> Any:
        return self._facts

    def owned(self, uid: str) -> list[Owned]:
        assert uid == "u1"
        return self.others

    def not_served(self, gvk: GroupVersionKind) -> None:
        self.unserved.append(gvk)

    def last_seen(self, group_kind: str, name: str, uid: str) -> Any:
        return self._last

    def assume(self, resource: Resource, written: Any) -> None:
        self.observed.append(written)


class Cache:
    """An informer with one object."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def get(self, namespace: str, name: str) -> Any:
        assert (namespace, name) == KEY
        return self.value

    def indexed(self, index: str, value: Any) -> Any:
        assert value == KEY
        return [((pod.namespace, pod.name), pod) for pod in self.value]


# Without the wrapped content, which no test here reads.
TEMPLATE = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train"}}


def appwrapper(
    phase: str, *conditions: str, created: bool = True, **changes: Any
) -> dict[str, Any]:
    recorded: dict[str, Any] = {
        "name": "train",
        "kind": "Job",
        "apiVersion": "batch/v1",
        "podSets": [{"path": "template.spec.template", "replicas": 2}],
    }
    if created:
        recorded["conditions"] = [CREATED]
    metadata = {
        "namespace": "team1",
        "name": "train",
        "uid": "u1",
        "resourceVersion": "7",
        "finalizers": ["workload.codeflare.dev/finalizer"],
        **changes.pop("metadata", {}),
    }
    return {
        "metadata": metadata,
        "spec": {"components": [{"template": TEMPLATE}], **changes.pop("spec", {})},
        "status": {
            "phase": phase,
            "attempt": 1,
            "componentStatus": [recorded],
            "conditions": [{"type": kind, "status": "True"} for kind in conditions],
            **changes,
        },
    }


def of_kind(item: dict[str, Any], **changes: str) -> dict[str, Any]:
    """Replaces `kind` or `apiVersion` of the AppWrapper's component."""
    item["spec"]["components"] = [{"template": TEMPLATE | changes}]
    item["status"]["componentStatus"][0].update(changes)
    return item


def job(*, attempt: str = "1", owner: str = "u1", **status: Any) -> dict[str, Any]:
    labels = {"workload.codeflare.dev/appwrapper": "train"}
    if attempt:
        labels["workload.codeflare.dev/attempt"] = attempt
    owners = [{"uid": owner, "kind": "AppWrapper", "name": "train", "controller": True}]
    metadata = {"namespace": "team1", "name": "train", "uid": "j1", "labels": labels}
    return {"metadata": {**metadata, "ownerReferences": owners}, "status": status}


COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}]}


def facts(**fields: Any) -> ComponentFacts:
    found = project_component("batch/Job", job(**fields))
    assert found is not None
    return found


def raw_pod(name: str, phase: str, attempt: str = "1") -> dict[str, Any]:
    labels = {
        "workload.codeflare.dev/appwrapper": "train",
        "workload.codeflare.dev/uid": "u1",
        "workload.codeflare.dev/attempt": attempt,
    }
    owners = [{"uid": "j1", "kind": "Job", "name": "train", "controller": True}]
    metadata = {"namespace": "team1", "name": name, "uid": name, "resourceVersion": "1"}
    return {
        "metadata": {**metadata, "labels": labels, "ownerReferences": owners},
        "status": {"phase": phase},
    }


RUNNING_PODS = tuple(project_pod(raw_pod(name, "Running")) for name in ("a", "b"))


class Unserved(UnservedKinds):
    """For an unserved Kind, objects may exist, for the reason that a test gives."""

    def __init__(self, client: Any, clock: FakeClock, obstacle: str) -> None:
        super().__init__(client, clock)
        self.reason = obstacle
        self.asked: list[GroupVersionKind] = []

    async def obstacle(self, gvk: GroupVersionKind) -> str:
        self.asked.append(gvk)
        return self.reason


class NothingStored:
    """Error stores without records."""

    def read(self, _appwrapper: Any, _store: str, *, begin: bool) -> None: ...

    def forget(self, _uid: str, _key: tuple[str, str]) -> None: ...


class NothingQueued:
    """Queues of which nothing is known."""

    async def read(self, _appwrapper: Any, _remembered: Any) -> None: ...

    async def unmanaged(self, _namespace: str) -> None: ...


class Gathering:
    """A gatherer with caches that contain a test's objects."""

    def __init__(
        self,
        item: Any,
        *,
        known: ComponentFacts | None = None,
        last: ComponentFacts | None = None,
        pods: tuple[Pod, ...] = (),
        created: bool = False,
        problem: CreateProblem | None = None,
        lists: list[Any] | None = None,
        obstacle: str = "its CRD is changing",
        unserved: tuple[str, ...] = (),
        nodes: NodeTags = UNWATCHED_NODES,
        flagged: Mapping[str, Collection[str]] = UNWATCHED_NODES,
        silent: Mapping[str, datetime] | None = None,
        held: HeldTaints = nothing_held,
        unknown_nodes: Collection[str] = (),
        behaviour: AppWrapperConfig | None = None,
        stores: Any = None,
        queues: Any = None,
        largest: Mapping[str, Decimal] | None = None,
        **answers: list[Any],
    ) -> None:
        self.kube = FakeKube(answers=answers, lists=lists or [])
        watches = self.watches = cast(Any, Watches(known, last))
        memory = self.memory = Memory()
        self.creations, self.deletions = memory.creations, memory.deletions
        if created:
            self.creations.record_success("u1", 1, 0, "j1")
        if problem:
            self.creations.record_problem("u1", 1, problem)
        kube: Any = self.kube
        self.served = served = cast(Any, FakeDiscovery())
        served.hidden.update(unserved)
        appwrappers: Any = Cache(None if item is None else project_appwrapper(item))
        self.cached_pods = Cache(pods)
        self.clock = FakeClock()
        locator = ComponentLocator(kube, self.clock, served, watches, memory)
        self.unserved = Unserved(kube, self.clock, obstacle)
        stored_and_queued: tuple[Any, Any] = stores or NothingStored(), queues or NothingQueued()
        self.gatherer = SnapshotGatherer(
            kube,
            self.clock,
            appwrappers,
            cast(Any, self.cached_pods),
            served,
            locator,
            self.unserved,
            memory,
            behaviour or AppWrapperConfig(),
            nodes,
            flagged,
            silent or {},
            lambda: held,
            lambda name: name in unknown_nodes,
            lambda: largest or {},
            lambda _pods, _now: NoNode(),
            *stored_and_queued,
            LivePods(kube),
        )

    async def gather(
        self,
        key: tuple[str, str] = KEY,
        now: datetime = NOW,
        asked: Collection[Need] = (),
    ) -> Observation | None:
        """Reads what the decision asks for, and then what else is asked; permits are granted."""
        reads = await self.gatherer.begin(key, now)
        if reads is None:
            return None
        while isinstance(step := next_step(reads.snapshot, now, reads.config), Ask):
            reads = await self._answered(reads, step.need)
        for need in asked:
            if need in reads.snapshot.unread:
                reads = await self._answered(reads, need)
        return reads.observation

    async def _answered(self, reads: Reads, need: Need) -> Reads:
        if need in (Need.PERMIT_RESET, Need.PERMIT_EVACUATION):
            return reads.having(need)
        return await self.gatherer.answered(reads, need)

    async def observe(self) -> Observation:
        observation = await self.gather()
        assert observation is not None
        return observation

    async def presence(self) -> Presence:
        return (await self.observe()).snapshot.components[0].presence

    def methods(self) -> list[str]:
        return [call.method for call in self.kube.calls]
