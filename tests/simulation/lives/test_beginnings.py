"""AppWrappers that are admitted or deleted before the controller sees them for the first time."""

from typing import Final

import pytest

from shared.api.names import LABEL_APPWRAPPER, LABEL_UID
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from tests.simulation.lives.lived import NAME, Life, Once, live
from tests.simulation.scenarios import Act
from tests.simulation.workloads import NAMESPACE, job, pod, wrapped
from tests.simulation.world import World
from tests.support.builders.appwrappers import phase

ASLEEP = Act(0.9, "freeze", options={"seconds": 30.0})


def test_one_that_is_admitted_before_the_first_look_succeeds() -> None:
    """As by a Kueue that is quick: no change comes after the controller's first look."""
    life = live(job("j"), acts=(ASLEEP,), prepare=lambda body: body["spec"].update(suspend=False))
    seen = [event.object for event in life.events if life.at(event.object) < 30.0]
    assert [(each.get("status") or {}).get("phase") for each in seen] == [None] * len(seen)
    assert written(life) == ["Resuming", "Running", "Succeeded"]


def written(life: Life) -> list[str]:
    """Return the phases that a status had."""
    return list(dict.fromkeys(phase(event.object) for event in life.events if phase(event.object)))


def test_one_that_kueue_admits_at_once_starts_with_the_first_write() -> None:
    life = live(job("j"))
    assert written(life) == ["Resuming", "Running", "Succeeded"]
    pod_sets = [each["podSets"] for each in life.in_phase("Resuming")["status"]["componentStatus"]]
    assert [[each["replicas"] for each in one] for one in pod_sets] == [[2]]


def test_one_that_kueue_does_not_admit_at_once_reports_within_a_moment_that_it_waits() -> None:
    first = wrapped("first", job("first", 6))
    life = live(job("j"), beside=((0.5, first),))
    assert written(life) == ["Suspended", "Resuming", "Running", "Succeeded"]
    begin = life.at(life.in_phase("Suspended")) - life.at(life.events[0].object)
    assert 0.1 < begin < 0.15


def test_one_that_is_suspended_without_a_queue_reports_it_at_once() -> None:
    def held(body: JsonObject) -> None:
        body["metadata"]["labels"] = {}
        body["spec"]["suspend"] = True

    resumed = Once(lambda item: phase(item) == "Suspended", unsuspend, after=5.0)
    life = live(job("j"), acts=(resumed,), prepare=held)
    assert written(life) == ["Suspended", "Resuming", "Running", "Succeeded"]
    assert life.at(life.in_phase("Suspended")) - life.at(life.events[0].object) < 0.05


def unsuspend(world: World) -> None:
    store = world.cluster.store
    store.change(APPWRAPPERS, NAMESPACE, NAME, lambda item: item["spec"].pop("suspend"))


def deleted(world: World) -> None:
    world.acts.user.delete(NAME)
    assert world.cluster.store.get(APPWRAPPERS, NAMESPACE, NAME) is not None


def writes(life: Life) -> list[str]:
    """Return the controller's writes, in their order."""
    lines = (line.partition(" c0 ")[2] for line in life.world.cluster.trace)
    return [line for line in lines if line.startswith(("POST ", "PUT ", "PATCH ", "DELETE "))]


def test_one_that_is_deleted_before_the_first_look_goes_although_it_has_our_finalizer() -> None:
    created = Once(lambda item: True, deleted, after=1.0)
    life = live(job("j"), acts=(ASLEEP, created))
    assert life.phases() == [""]
    assert life.events[-1].type.value == "DELETED"
    assert writes(life) == ["PATCH appwrappers/a"]


def test_one_with_a_pod_is_terminating_although_its_status_shows_no_deployment() -> None:
    def with_a_pod(world: World) -> None:
        item = world.cluster.store.get(APPWRAPPERS, NAMESPACE, NAME)
        assert item is not None
        other = pod("other")
        other["metadata"]["labels"] = {LABEL_APPWRAPPER: NAME, LABEL_UID: item["metadata"]["uid"]}
        world.cluster.store.create(PODS, NAMESPACE, other)
        deleted(world)

    created = Once(lambda item: True, with_a_pod, after=1.0)
    life = live(job("j"), acts=(ASLEEP, created), breaks=frozenset({"stray"}))
    assert life.phases() == ["", "Terminating"]
    assert life.events[-1].type.value == "DELETED"
    assert life.left(PODS) == []


def test_the_deletion_of_one_that_waits_costs_one_request() -> None:
    waits = Once(lambda item: phase(item) == "Suspended", deleted, after=1.0)
    life = live(job("j"), acts=(waits,), capacity=1)
    assert life.phases() == ["", "Suspended"]
    assert life.events[-1].type.value == "DELETED"
    assert writes(life) == ["PUT appwrappers/a/status", "PATCH appwrappers/a"]
    assert life.left(PODS) == []


def test_another_finalizer_keeps_one_that_waits_and_nothing_starts_it() -> None:
    """Kueue has quota for it, and admits it while it is being deleted or before."""

    def held(body: JsonObject) -> None:
        body["metadata"]["finalizers"].append("example.com/mine")

    def released(world: World) -> None:
        def change(item: JsonObject) -> None:
            assert item["metadata"]["finalizers"] == ["example.com/mine"]
            del item["metadata"]["finalizers"]

        world.cluster.store.change(APPWRAPPERS, NAMESPACE, NAME, change)

    waits = Once(lambda item: True, deleted)
    later = Once(lambda item: True, released, after=60.0)
    life = live(job("j"), acts=(waits, later), prepare=held)
    assert life.phases() == [""]
    assert life.left(PODS) == []
    assert writes(life) == ["PATCH appwrappers/a"]


MIRRORED: Final = {
    "phase": "Running",
    "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "Resuming"}],
    "componentStatus": [
        {
            "name": "j",
            "kind": "Job",
            "apiVersion": "batch/v1",
            "podSets": [{"path": "template.spec.template", "replicas": 2}],
            "conditions": [{"type": "ResourcesDeployed", "status": "True", "reason": "Created"}],
        }
    ],
}


@pytest.mark.parametrize("status", [None, MIRRORED], ids=["no status", "another cluster's status"])
def test_one_that_kueue_hands_to_another_controller_can_be_deleted(status: JsonObject) -> None:
    """Kueue's webhook sets managedBy (MultiKueue) after this project's webhook. Its pods run in
    another cluster.
    """

    def handed_over(body: JsonObject) -> None:
        body["spec"]["managedBy"] = "kueue.x-k8s.io/multikueue"

    def mirrored(world: World) -> None:
        if status is not None:
            world.cluster.store.change(
                APPWRAPPERS, NAMESPACE, NAME, lambda item: item.update(status=status)
            )

    created = Once(lambda item: True, mirrored, after=0.5)
    gone = Once(lambda item: True, deleted, after=1.0)
    # The other cluster's status takes edges that this controller never takes.
    breaks = frozenset({"judge"} if status else ())
    life = live(job("j"), acts=(created, gone), prepare=handed_over, breaks=breaks)
    assert life.events[-1].type.value == "DELETED"
    assert writes(life) == ["PATCH appwrappers/a"]
