"""AppWrappers that are admitted or deleted before the controller sees them for the first time."""

from shared.api.names import FINALIZER
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from tests.simulation.lives.lived import NAME, Once, live
from tests.simulation.scenarios import Act
from tests.simulation.workloads import NAMESPACE, job
from tests.simulation.world import World

ASLEEP = Act(0.9, "freeze", options={"seconds": 30.0})


def test_one_that_is_admitted_before_the_first_look_succeeds() -> None:
    """As by a Kueue that is quick: no change comes after the controller's first look."""
    life = live(job("j"), acts=(ASLEEP,), prepare=lambda body: body["spec"].update(suspend=False))
    seen = [event.object for event in life.events if life.at(event.object) < 30.0]
    assert [(each.get("status") or {}).get("phase") for each in seen] == [None] * len(seen)
    assert life.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]


def test_one_that_is_deleted_before_the_first_look_goes_although_it_has_our_finalizer() -> None:
    """As another operator, or a restored backup, may leave it."""

    def finalized(body: JsonObject) -> None:
        body["metadata"]["finalizers"] = [FINALIZER]

    def deleted(world: World) -> None:
        world.acts.user.delete(NAME)
        assert world.cluster.store.get(APPWRAPPERS, NAMESPACE, NAME) is not None

    created = Once(lambda item: True, deleted, after=1.0)
    life = live(job("j"), acts=(ASLEEP, created), prepare=finalized)
    assert life.phases() == [""]
    assert life.events[-1].type.value == "DELETED"
    assert life.left(PODS) == []
