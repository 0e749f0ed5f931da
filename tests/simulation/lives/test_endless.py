"""A component that never ends beside one that does."""

from shared.api.objects import EVENTS
from tests.simulation.lives.lived import NAME, Life, Once, live
from tests.simulation.workloads import NAMESPACE, job, ray
from tests.support.builders.appwrappers import phase

REASON = "ComponentNeverEnds"
LATER = Once(
    lambda item: phase(item) == "Running", lambda world: world.acts.user.delete(NAME), after=60.0
)


def warnings(life: Life) -> list[tuple[int, str]]:
    """The count and the message of the Warning."""
    found = {
        write.item["metadata"]["name"]: write.item
        for write in life.world.cluster.store.history[EVENTS]
        if write.item["reason"] == REASON
    }
    return [(each["count"], each["message"]) for each in found.values()]


def test_once_the_others_have_ended_a_warning_names_it_and_the_command() -> None:
    [(count, message)] = warnings(live(job("j", 1), ray("serve"), acts=(LATER,)))
    assert count == 1
    assert message.startswith(
        "all other components have succeeded, but RayCluster serve never ends: "
    )
    assert message.endswith(f". To end it: appwrapper cancel {NAME} -n {NAMESPACE}")


def test_alone_it_is_what_its_user_asked_for() -> None:
    assert warnings(live(ray("serve"), acts=(LATER,))) == []
