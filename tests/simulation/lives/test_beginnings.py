"""AppWrappers that are admitted or deleted before the controller sees them for the first time."""

from shared.api.names import FINALIZER
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from tests.simulation.lives.lived import NAME, Life, Once, live
from tests.simulation.scenarios import Act
from tests.simulation.workloads import NAMESPACE, job, wrapped
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


def test_one_that_is_deleted_before_the_first_look_goes_although_it_has_our_finalizer() -> None:
    """As another operator, or a restored backup, may leave it."""

    def finalized(body: JsonObject) -> None:
        body["metadata"]["finalizers"] = [FINALIZER]

    def deleted(world: World) -> None:
        world.acts.user.delete(NAME)
        assert world.cluster.store.get(APPWRAPPERS, NAMESPACE, NAME) is not None

    created = Once(lambda item: True, deleted, after=1.0)
    life = live(job("j"), acts=(ASLEEP, created), prepare=finalized)
    assert life.phases() == ["", "Terminating"]
    assert life.events[-1].type.value == "DELETED"
    assert life.left(PODS) == []
