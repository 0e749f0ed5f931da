"""A user holds an AppWrapper and releases it: whose pods run, and whose quota it is meanwhile."""

from collections.abc import Callable

from shared.api.names import ANNOTATION_DEACTIVATED
from shared.api.objects import JsonObject, annotation
from shared.waits.workload import WORKLOADS
from tests.simulation.actors.kueue.quota import Release, Why
from tests.simulation.actors.kueue.workloads import is_active
from tests.simulation.lives.lived import NAME, Life, Once, live, record
from tests.simulation.scenarios import Act
from tests.simulation.workloads import job, wrapped
from tests.simulation.world import World
from tests.support.builders.appwrappers import phase, true_conditions, version_of
from tests.support.life_record import READY, revisions

WAITS = "Suspended"
HOLD, RELEASE = "hold", "release"
LONG = job("j", 2, run_for="30s")
OTHER = wrapped("other", job("other", 6, run_for="20s"))


def by_user(what: str, at: float) -> Callable[[World], None]:
    """Arrange that the user holds or releases the AppWrapper at that second."""

    def arrange(world: World) -> None:
        world.cluster.loop.outside(at, getattr(world.acts.user, what), NAME)

    return arrange


def all_of(*arranged: Callable[[World], None]) -> Callable[[World], None]:
    def arrange(world: World) -> None:
        for each in arranged:
            each(world)

    return arrange


def is_ready(item: JsonObject) -> bool:
    return READY in true_conditions(item)


def is_held(item: JsonObject) -> bool:
    return reason(item) == "Held"


def reason(item: JsonObject) -> str:
    conditions = (item.get("status") or {}).get("conditions") or []
    return "".join(each["reason"] for each in conditions if each["type"] == "QuotaReserved")


def releases(world: World, into: list[Release]) -> None:
    world.programs.kueue.on_release(into.append)


def workload(life: Life) -> list[tuple[bool, str | None]]:
    """Return `active` and the controller's mark of its Workloads, each pair once in a row."""
    found: list[tuple[bool, str | None]] = []
    for write in life.world.cluster.store.history[WORKLOADS]:
        owner = write.item["metadata"]["ownerReferences"][:1]
        if write.type == "DELETED" or not owner or owner[0]["name"] != NAME:
            continue
        seen = is_active(write.item), annotation(write.item, ANNOTATION_DEACTIVATED)
        if found[-1:] != [seen]:
            found.append(seen)
    return found


def test_one_that_waits_leaves_the_queue_at_once_and_returns() -> None:
    """Quota becomes free at about 25 s, while it is held."""
    life = live(
        LONG, beside=((0.5, OTHER),), arrange=all_of(by_user(HOLD, 5), by_user(RELEASE, 60))
    )
    assert life.phases() == ["", WAITS, "Resuming", "Running", "Succeeded"]
    held = life.first(is_held)
    assert life.at(held) < 5.5
    assert workload(life)[:3] == [(True, None), (False, "true"), (True, "false")]
    assert 60 < life.at(life.in_phase("Resuming")) < 62
    over = life.first(lambda item: reason(item) == WAITS, after=version_of(held))
    assert life.at(over) < life.at(life.in_phase("Resuming"))


def test_one_that_runs_stops_and_its_quota_is_another_ones_until_the_release() -> None:
    freed: list[Release] = []
    life = live(
        LONG,
        beside=((6.0, OTHER),),
        arrange=all_of(
            lambda world: releases(world, freed), by_user(HOLD, 10), by_user(RELEASE, 15)
        ),
    )
    other = record(life.world, "other")
    assert life.phases() == [
        "",
        WAITS,
        "Resuming",
        "Running",
        "Suspending",
        WAITS,
        "Resuming",
        "Running",
        "Succeeded",
    ]
    uid = life.events[0].object["metadata"]["uid"]
    assert [each.why for each in freed if each.uid == uid] == [Why.HELD, Why.FINISHED]
    held, began = life.first(is_held), revisions(other, ["Resuming"])["Resuming"]
    assert version_of(held) < began  # its pods are gone, and its status shows it, before that
    [ended] = revisions(other, ["Succeeded"]).values()
    again = life.in_phase("Resuming", after=version_of(held))
    assert ended < version_of(again)
    assert again["status"].get("resettingCount", 0) == 0


def test_a_crash_while_it_is_held_changes_nothing() -> None:
    life = live(
        LONG,
        acts=(Act(11.0, "crash"), Act(20.0, "crash")),
        arrange=all_of(by_user(HOLD, 10), by_user(RELEASE, 40)),
    )
    held = life.first(is_held)
    again = life.in_phase("Resuming", after=version_of(held))
    assert 40 < life.at(again) < 42
    assert life.phases()[-1] == "Succeeded"
    assert workload(life) == [(True, None), (False, "true"), (True, "false")]


def test_a_new_workload_is_deactivated_too() -> None:
    def delete_workload(world: World) -> None:
        world.cluster.loop.outside(20.0, world.acts.do, "delete Workload", NAME)

    life = live(LONG, arrange=all_of(by_user(HOLD, 10), delete_workload, by_user(RELEASE, 40)))
    marks = [(True, None), (False, "true")]
    assert workload(life) == [*marks, *marks, (True, "false")]
    held = life.first(is_held)
    again = life.in_phase("Resuming", after=version_of(held))
    assert 40 < life.at(again) < 42
    assert life.phases()[-1] == "Succeeded"


def test_a_deactivation_by_an_admin_outlives_the_hold() -> None:
    def deactivated(active: bool, at: float) -> Callable[[World], None]:
        def arrange(world: World) -> None:
            user = world.acts.user
            world.cluster.loop.outside(at, lambda: user.deactivate(NAME, active=active))

        return arrange

    life = live(
        LONG,
        arrange=all_of(
            deactivated(False, 10),
            by_user(HOLD, 20),
            by_user(RELEASE, 30),
            deactivated(True, 50),
        ),
        acts=(Act(55.0, "annotate", NAME),),
    )
    assert workload(life) == [(True, None), (False, None), (True, None)]
    held = life.first(is_held)
    assert 20 < life.at(held) < 20.5
    again = life.in_phase("Resuming", after=version_of(held))
    assert 50 < life.at(again) < 52


def test_an_admin_who_activates_a_held_one_starts_nothing() -> None:
    def activate(world: World) -> None:
        user = world.acts.user
        world.cluster.loop.outside(20.0, lambda: user.deactivate(NAME, active=True))

    life = live(LONG, arrange=all_of(by_user(HOLD, 10), activate, by_user(RELEASE, 60)))
    assert workload(life)[1:] == [(False, "true"), (True, "true"), (False, "true"), (True, "false")]
    held = life.first(is_held)
    assert life.at(life.in_phase("Resuming", after=version_of(held))) > 60


def test_one_that_is_held_from_the_beginning_makes_nothing() -> None:
    def held(body: JsonObject) -> None:
        body["metadata"]["annotations"]["workload.codeflare.dev.appwrapper/hold"] = "true"

    life = live(LONG, prepare=held, arrange=by_user(RELEASE, 30))
    assert life.phases() == ["", WAITS, "Resuming", "Running", "Succeeded"]
    assert 30 < life.at(life.in_phase("Resuming")) < 33


def test_one_that_is_released_before_kueue_has_suspended_it_waits_for_kueue() -> None:
    """Kueue may have given its quota to another one."""
    released = Once(is_held, lambda world: world.acts.user.release(NAME))
    life = live(LONG, acts=(released,), arrange=by_user(HOLD, 10))
    held = life.first(is_held)
    between = life.first(lambda item: item["spec"].get("suspend") is True, after=version_of(held))
    again = life.in_phase("Resuming", after=version_of(held))
    assert version_of(between) < version_of(again)
    assert workload(life) == [(True, None), (False, "true"), (True, "false")]
    assert life.phases()[-1] == "Succeeded"


def test_one_without_a_queue_starts_when_it_is_released() -> None:
    def unqueued(body: JsonObject) -> None:
        body["metadata"]["labels"] = {}
        body["spec"]["suspend"] = False

    life = live(LONG, prepare=unqueued, arrange=all_of(by_user(HOLD, 10), by_user(RELEASE, 40)))
    assert life.phases()[-4:] == [WAITS, "Resuming", "Running", "Succeeded"]
    held = life.first(is_held)
    assert 40 < life.at(life.in_phase("Resuming", after=version_of(held))) < 41


def test_one_that_is_held_is_deleted_at_once() -> None:
    life = live(LONG, acts=(Act(20.0, "delete", NAME),), arrange=by_user(HOLD, 10))
    assert life.at(life.events[-1].object) < 20.5
    assert life.left(WORKLOADS) == []


def test_a_hold_of_an_ended_one_does_nothing() -> None:
    life = live(job("j", run_for="2s"), arrange=by_user(HOLD, 30))
    assert phase(life.events[-1].object) == "Succeeded"
    assert life.phases()[-1] == "Succeeded"
