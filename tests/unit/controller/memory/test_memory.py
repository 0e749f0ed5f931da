"""What is remembered of an AppWrapper is forgotten with it, whatever part remembers it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, replace
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from controller.caches import Caches
from controller.controller import Controller
from controller.facts.appwrapper_outline import project_appwrapper
from controller.facts.components import ComponentFacts
from controller.facts.observe import Observation
from controller.memory.deletions import Explanation
from controller.memory.memory import Measured, Memory, Remembered
from controller.phases.phase import Phase
from controller.phases.root_cause import RootCause
from controller.phases.snapshot import CreateProblem, FaultTolerance, Snapshot
from controller.reports.resources_deployed import ComponentsUnreadable
from shared.api.appwrapper import AppWrapper
from shared.config.configuration import Configuration
from shared.kube.object_cache import Change
from shared.process.sources import Sources
from tests.support.builders.remembered_pods import pod
from tests.support.fakes.fake_kube import FakeKube
from tests.support.moments import NOW

KEY = ("team1", "train")
LISTENERS = {"health": {"bindAddress": "0"}, "metrics": {"bindAddress": "0"}}


def raw(uid: str) -> dict[str, Any]:
    return {"metadata": {"namespace": KEY[0], "name": KEY[1], "uid": uid}, "spec": {}}


def fill(memory: Memory, uid: str) -> None:
    """Something in every part."""
    memory.creations.record_success(uid, 1, 0, "j1")
    memory.creations.record_problem(uid, 1, CreateProblem(fatal=False, message="403"))
    memory.deletions.accept(uid, "j1")
    explanation = Explanation(NOW, forcing=False, blockers=(), forced_off=())
    memory.deletions.of(uid).explanation = explanation
    memory.creations.is_replaced(uid, 1, 1, "j1")
    running = Snapshot(phase=Phase.RUNNING)
    memory.sightings.with_history(Observation(AppWrapper(raw(uid)), running, FaultTolerance()))
    failing = replace(running, root_cause=RootCause(pod="train-0"))
    memory.sightings.with_history(Observation(AppWrapper(raw(uid)), failing, FaultTolerance()))
    memory.sightings.first_seen(uid, NOW)
    memory.sightings.see_success(pod("train-0", "Succeeded", appwrapper_uid=uid))
    memory.sightings.see_failure(pod("train-1", "Failed", appwrapper_uid=uid))
    remembered = memory.of(uid)
    remembered.annotation_warnings = frozenset({"metadata.annotations: no"})
    remembered.measured = Measured(1.0)
    remembered.evacuated_since = 1.0
    remembered.entered = Phase.RUNNING, 1.0
    remembered.reported = {
        "ResourcesDeployed": ComponentsUnreadable(components=("Job train",), why="403")
    }
    remembered.preemptors = {("w2", "u2"): "Job urgent of namespace b"}
    remembered.deleted["batch/Job", "train"] = ComponentFacts(
        namespace=KEY[0],
        name="train-job",
        uid="j1",
        owner_uid=uid,
        owner_name=KEY[1],
        attempt="1",
        deleting=True,
    )


def places(value: object, wanted: str, path: str, seen: dict[int, str]) -> Iterator[str]:
    """Where below an object of ours that text is kept; `seen` gets what was looked at."""
    if value == wanted:
        yield path
    if isinstance(value, (str, bytes)) or id(value) in seen:
        return
    seen[id(value)] = type(value).__name__
    below: list[tuple[str, object]] = []
    if isinstance(value, Mapping):
        below = [("", each) for each in value] + [(f"[{key}]", value[key]) for key in value]
    elif isinstance(value, Collection):
        below = [("[]", each) for each in value]
    elif isinstance(value, MethodType):
        below = [("", value.__self__)]
    elif isinstance(value, partial):
        below = [("", each) for each in (value.func, *value.args, *value.keywords.values())]
    elif isinstance(value, FunctionType):
        below = [("", cell.cell_contents) for cell in value.__closure__ or ()]
    elif type(value).__module__.startswith(("controller.", "shared.")):
        names = [*getattr(value, "__dict__", ()), *getattr(type(value), "__slots__", ())]
        below = [(f".{name}", getattr(value, name, None)) for name in names]
    for name, each in below:
        yield from places(each, wanted, path + name, seen)


def test_every_field_of_what_is_remembered_is_filled_here() -> None:
    memory = Memory()
    fill(memory, "u1")
    filled, blank = memory.known("u1"), Remembered()
    assert [
        each.name
        for each in fields(Remembered)
        if getattr(filled, each.name) == getattr(blank, each.name)
    ] == []


def test_nothing_of_it_is_left_and_another_stays() -> None:
    memory = Memory()
    fill(memory, "u1")
    fill(memory, "u2")
    forgotten: list[Any] = []
    memory.on_forget(lambda uid, key: forgotten.append((uid, key)))
    memory.forget("u1", KEY)
    assert memory.known("u1") == Remembered()
    assert memory.known("u2") != Remembered()
    assert forgotten == [("u1", KEY)]
    forgotten.clear()
    assert list(places(memory, "u1", "memory", {})) == []
    assert list(places(memory, "u2", "memory", {})) != []


def test_a_pass_that_outlasts_its_appwrapper_leaves_nothing_in_memory() -> None:
    memory = Memory()
    memory.forget("u1", KEY)
    fill(memory, "u1")
    assert memory.known("u1") == Remembered()
    assert list(places(memory, "u1", "memory", {})) == []


def test_looking_for_what_is_not_remembered_keeps_nothing() -> None:
    memory = Memory()
    memory.deletions.find_left("u1")
    memory.deletions.end("u1")
    assert memory.creations.latest("u1") == 0
    assert list(places(memory, "u1", "memory", {})) == []


async def test_the_whole_controller_forgets_one_that_is_gone() -> None:
    client: Any = FakeKube()
    config = Configuration.model_validate({"controllerManager": LISTENERS})
    sources = Sources.of_the_machine()
    caches = Caches.of(client, config, sources)
    controller = Controller(client, config, sources=sources, caches=caches)
    reset_gate = controller._fleet.reset_gate
    fill(controller._memory, "u1")
    for each in ("u1", "first", "second"):  # one has a token, the others wait in line
        with reset_gate.request(each, KEY, NOW) as request:
            request.hold(None)
    found = list(places(controller, "u1", "controller", {}))
    # The memory's, those of its ComponentFacts and its two Pods, and the reset gate's.
    assert len(found) == 5, found
    controller._appwrapper_changed(Change(KEY, project_appwrapper(raw("u1")), None))
    seen: dict[int, str] = {}
    assert list(places(controller, "u1", "controller", seen)) == []
    # Those that work on AppWrappers, behind the workers' callback.
    assert {"SnapshotGatherer", "Applier", "Meter", "Discovery"} <= set(seen.values())
