"""A process that slept while another one worked touches nothing of a later attempt.

Two processes share one API server, played here by a few objects in memory. The older process holds
what it read before it slept.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from controller.apply.applier import Applier
from controller.apply.creator import ComponentCreator
from controller.apply.deleter import Deleter
from controller.facts.deployed import DeployedObject
from controller.facts.observe import Observation
from controller.memory.memory import Memory
from controller.phases.actions import (
    Action,
    Actions,
    CreateComponents,
    DeleteComponents,
    DeletionMode,
    MoveTo,
    Reason,
)
from controller.phases.phase import Phase
from controller.phases.snapshot import FaultTolerance, Snapshot
from shared.api.appwrapper import AppWrapper
from shared.api.names import LABEL_ATTEMPT
from shared.api.objects import APPWRAPPERS, PODS, Resource
from shared.config.fault_tolerance import ErrorAggregation
from shared.injection.avoided_hosts import NO_HOSTS
from shared.injection.pod_template import PodDefaults
from shared.kube.client import AlreadyExists, ApiError, Conflict, NotFound
from tests.support.builders.gathering import FakeDiscovery
from tests.support.cluster.resources import SERVICES
from tests.support.fakes.fake_clock import FakeClock
from tests.support.moments import NOW

KEPT = {"workload.codeflare.dev.appwrapper/keep": "true"}
Key = tuple[str, str]


def appwrapper(
    attempt: int, phase: Phase, *, version: str, annotations: dict[str, str] | None = None
) -> dict[str, Any]:
    template = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc"}}
    entry = {"name": "svc", "kind": "Service", "apiVersion": "v1"}
    return {
        "metadata": {
            "namespace": "team1",
            "name": "train",
            "uid": "u1",
            "resourceVersion": version,
        },
        "spec": {"components": [{"template": template, "annotations": annotations or {}}]},
        "status": {"attempt": attempt, "phase": phase.value, "componentStatus": [entry]},
    }


def owned(name: str, attempt: str) -> dict[str, Any]:
    owner = {"uid": "u1", "kind": "AppWrapper", "name": "train", "controller": True}
    labels = {LABEL_ATTEMPT: attempt} if attempt else {}
    metadata = {"name": name, "uid": f"uid-{name}", "labels": labels, "ownerReferences": [owner]}
    return {"metadata": metadata}


@dataclass
class Server:
    """The API server with the objects that the newer process has written."""

    objects: dict[Key, dict[str, Any]]
    deleted: list[str] = field(default_factory=list)
    failing: ApiError | None = None
    before_create: Callable[[], None] = lambda: None

    async def get(self, resource: Resource, _namespace: str, name: str) -> dict[str, Any]:
        if self.failing is not None and resource == APPWRAPPERS:
            raise self.failing
        if (resource.plural, name) not in self.objects:
            raise NotFound(404, "NotFound", f"no {name}")
        return copy.deepcopy(self.objects[resource.plural, name])

    async def create(self, resource: Resource, namespace: str, body: dict[str, Any]) -> Any:
        self.before_create()
        name = body["metadata"]["name"]
        if (resource.plural, name) in self.objects:
            raise AlreadyExists(409, "AlreadyExists", f"{name} exists")
        raise AssertionError("nothing is created here")

    async def update(
        self, resource: Resource, _namespace: str, name: str, body: Any, **_: Any
    ) -> Any:
        stored = self.objects[resource.plural, name]
        assert body["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]
        stored["status"] = body["status"]
        stored["metadata"]["resourceVersion"] += "0"
        return copy.deepcopy(stored)

    async def delete(self, resource: Resource, _namespace: str, name: str, **kwargs: Any) -> None:
        assert kwargs["uid"] == self.objects[resource.plural, name]["metadata"]["uid"]
        self.deleted.append(name)


class Process:
    """The older process. `read_again` are the versions that it put into its cache."""

    def __init__(self, server: Server) -> None:
        self.memory = Memory()
        self.read_again: list[str] = []
        kube: Any = server
        me: Any = self
        discovery = FakeDiscovery()
        discovery.more = (SERVICES,)
        served: Any = discovery
        creator = ComponentCreator(
            kube,
            served,
            me.Watches(),
            self.memory.creations,
            PodDefaults(),
            lambda *_: NO_HOSTS,
            ErrorAggregation(),
        )
        self.clock = FakeClock()
        deleter = Deleter(kube, self.memory.deletions, self.clock, lambda *_: None)
        self.applier = Applier(kube, me, creator, deleter, me, self.memory, ())

    class Watches:
        async def ensure(self, resource: Resource) -> None: ...

        def assume(self, resource: Resource, written: Any) -> None: ...

    def assume(self, written: dict[str, Any], *, silent: bool = False) -> None:
        self.read_again.append(written["metadata"]["resourceVersion"])

    def tell(self, observation: Any, actions: Any) -> None: ...

    async def act(
        self, read: dict[str, Any], action: Action | Actions, *seen: DeployedObject
    ) -> None:
        item = AppWrapper(read)
        snapshot = Snapshot(phase=Phase(item.status["phase"]), stray_pods=True)
        components = tuple(each for each in seen if each.resource != PODS)
        pods = tuple(each for each in seen if each.resource == PODS)
        observation = Observation(
            item, snapshot, FaultTolerance(), components, pods, empty=components
        )
        actions = action if isinstance(action, tuple) else (action,)
        await self.applier.apply(observation, actions, NOW)


def second_attempt(*, service: str = "2") -> Server:
    """The newer process has reset the AppWrapper and runs its second attempt."""
    return Server(
        {
            ("appwrappers", "train"): appwrapper(2, Phase.RUNNING, version="9"),
            ("services", "svc"): owned("svc", service),
            ("pods", "p"): owned("p", "2"),
        }
    )


SERVICE = DeployedObject(SERVICES, "svc", "uid-svc", False, attempt="2")
POD = DeployedObject(PODS, "p", "uid-p", False, attempt="2")
MODES = [
    DeletionMode.GRACEFUL,
    DeletionMode.FORCE_PODS,
    DeletionMode.FORCE_COMPONENTS,
    DeletionMode.BACKGROUND_EMPTY,
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("phase", [Phase.RESETTING, Phase.SUSPENDING, Phase.FAILED])
async def test_a_process_that_deletes_the_first_attempt_spares_the_second(
    mode: DeletionMode, phase: Phase
) -> None:
    server = second_attempt()
    late = Process(server)
    with pytest.raises(Conflict, match="changed since the decision to delete its objects"):
        await late.act(appwrapper(1, phase, version="5"), DeleteComponents(mode), SERVICE, POD)
    assert server.deleted == []
    assert late.read_again == ["9"]


async def test_one_object_of_a_later_attempt_spares_all() -> None:
    """A kept component still has the label of an earlier attempt."""
    server = second_attempt(service="1")
    late = Process(server)
    kept = DeployedObject(SERVICES, "svc", "uid-svc", False, attempt="1")
    with pytest.raises(Conflict):
        await late.act(
            appwrapper(1, Phase.RESETTING, version="5"),
            DeleteComponents(DeletionMode.FORCE_PODS),
            kept,
            DeployedObject(PODS, "q", "uid-q", False, attempt="1"),
            POD,
        )
    assert server.deleted == []


@pytest.mark.parametrize("annotations", [{}, KEPT], ids=["recreated", "kept"])
async def test_a_process_that_creates_the_first_attempt_spares_and_adopts_nothing_of_the_second(
    annotations: dict[str, str],
) -> None:
    server = second_attempt()
    late = Process(server)
    read = appwrapper(1, Phase.RESUMING, version="5", annotations=annotations)
    # It slept after the check of the AppWrapper's version, when the create was next.
    current = server.objects["appwrappers", "train"]
    server.objects["appwrappers", "train"] = read
    server.before_create = lambda: server.objects.update({("appwrappers", "train"): current})
    with pytest.raises(Conflict, match="changed since the decision to create its components"):
        await late.act(read, CreateComponents())
    assert server.deleted == []
    assert late.memory.creations.known("u1", 1).created.get(0) is None
    assert late.memory.creations.known("u1", 1).problem is None
    assert late.read_again == ["9"]


async def test_an_appwrapper_that_is_gone_meanwhile_is_decided_on_again() -> None:
    server = second_attempt()
    del server.objects["appwrappers", "train"]
    late = Process(server)
    with pytest.raises(Conflict):
        await late.act(
            appwrapper(1, Phase.RESETTING, version="5"),
            DeleteComponents(DeletionMode.FORCE_PODS),
            POD,
        )
    assert (server.deleted, late.read_again) == ([], [])


async def test_without_an_answer_nothing_is_deleted() -> None:
    server = second_attempt()
    server.failing = ApiError(500, "InternalError", "etcd")
    late = Process(server)
    with pytest.raises(ApiError, match="etcd"):
        await late.act(
            appwrapper(1, Phase.RESETTING, version="5"),
            DeleteComponents(DeletionMode.FORCE_PODS),
            POD,
        )
    assert server.deleted == []


@pytest.mark.parametrize("attempt", ["", "1", "2", "x"])
async def test_objects_without_a_later_attempt_need_no_read(attempt: str) -> None:
    """Objects of the Go operator have no attempt."""
    server = second_attempt()
    server.failing = ApiError(500, "InternalError", "must not be read")
    process = Process(server)
    pod = DeployedObject(PODS, "p", "uid-p", False, attempt=attempt)
    read = appwrapper(2, Phase.RESETTING, version="9")
    await process.act(read, DeleteComponents(DeletionMode.FORCE_PODS), pod)
    assert server.deleted == ["p"]


async def test_a_label_that_only_looks_later_blocks_no_deletion() -> None:
    """Somebody wrote the label or set the status back: the version that was read is current."""
    server = second_attempt()
    server.objects["appwrappers", "train"] = appwrapper(1, Phase.RESETTING, version="9")
    process = Process(server)
    read = appwrapper(1, Phase.RESETTING, version="9")
    await process.act(read, DeleteComponents(DeletionMode.FORCE_PODS), POD)
    assert server.deleted == ["p"]


async def test_a_deletion_after_its_own_status_write_is_no_change_of_another_process() -> None:
    server = second_attempt()
    read = appwrapper(1, Phase.RUNNING, version="9")
    server.objects["appwrappers", "train"] = copy.deepcopy(read)
    process = Process(server)
    reset = MoveTo(Phase.RESETTING, Reason.FAILED_PODS)
    await process.act(read, (reset, DeleteComponents(DeletionMode.FORCE_PODS)), POD)
    assert server.deleted == ["p"]


async def test_a_label_that_only_looks_later_is_a_leftover_for_a_create() -> None:
    server = second_attempt()
    read = appwrapper(1, Phase.RESUMING, version="9")
    server.objects["appwrappers", "train"] = read
    process = Process(server)
    await process.act(read, CreateComponents())
    assert server.deleted == ["svc"]
    problem = process.memory.creations.known("u1", 1).problem
    assert problem is not None
    assert problem.message == "spec.components[0]: Service svc is left over from attempt 2"
