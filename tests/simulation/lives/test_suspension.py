"""Suspended in every phase that holds quota, because Kueue needs the quota for another one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from tests.simulation.actors.kueue.settings import IMPATIENT
from tests.simulation.lives.lived import NAME, Life, Once, live, record
from tests.simulation.workloads import NAMESPACE, job, pod, wrapped
from tests.simulation.world import World
from tests.support.builders.appwrappers import AT_ONCE, phase, true_conditions, version_of
from tests.support.life_record import (
    DEPLOYED,
    QUOTA,
    READY,
    UNHEALTHY,
    retries,
    revisions,
    steps,
)

LONG = "1h"
URGENT = "urgent"
PAUSE = AT_ONCE | {"retryPausePeriodDuration": LONG}
FAILS_ONCE = {"run_for": "200ms", "exit_code": "1", "fail_attempts": "1"}


def is_ready(item: JsonObject) -> bool:
    return READY in true_conditions(item)


def is_reset(item: JsonObject) -> bool:
    return phase(item) == "Resetting" and DEPLOYED in true_conditions(item)


def pauses(item: JsonObject) -> bool:
    """All is gone, and the next attempt has time."""
    return phase(item) == "Resetting" and DEPLOYED not in true_conditions(item)


def is_kept(item: JsonObject) -> bool:
    return phase(item) == "Failed" and DEPLOYED in true_conditions(item)


def submits_urgent(world: World) -> None:
    """Submit one that needs all of the quota, with a higher priority."""
    body = wrapped(URGENT, job("urgent", 2, run_for="500ms"))
    body["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high-priority"
    world.cluster.store.create(APPWRAPPERS, NAMESPACE, body)


@dataclass(frozen=True)
class Victim:
    """One that holds its quota in some phase. `path`: its phases until then."""

    name: str
    components: tuple[JsonObject, ...]
    seen: Callable[[JsonObject], bool]
    path: tuple[str, ...]
    periods: dict[str, str] = field(default_factory=dict)
    retries: int = 0


SLOW = pod("slow", run_for="9s", ignore_deletion_for="3s", grace="30")
VICTIMS = [
    Victim("Running", (job("v", 2, run_for="30s"),), is_ready, ("Resuming", "Running")),
    Victim(
        "Resetting",
        (pod("v", **FAILS_ONCE), SLOW),
        is_reset,
        ("Resuming", "Running", "Resetting"),
        PAUSE,
        retries=1,
    ),
    Victim(
        "the retry pause",
        (pod("v", **FAILS_ONCE), pod("w")),
        pauses,
        ("Resuming", "Running", "Resetting"),
        PAUSE,
        retries=1,
    ),
]


def preempted(victim: Victim) -> tuple[Life, Life]:
    """Return the lives of the victim and of the urgent one; the quota is enough for one."""
    urgent = Once(victim.seen, submits_urgent)
    life = live(*victim.components, acts=(urgent,), capacity=2, periods=victim.periods)
    return life, record(life.world, URGENT)


@pytest.mark.parametrize("victim", VICTIMS, ids=lambda victim: victim.name)
def test_a_preemption_is_respected_and_the_next_attempt_comes_through(victim: Victim) -> None:
    """The urgent AppWrapper starts only after the victim released its quota."""
    life, urgent = preempted(victim)
    held = life.first(victim.seen)
    away = life.in_phase("Suspended", after=version_of(held))
    assert away["spec"]["suspend"] is True
    assert true_conditions(away) == set()
    assert version_of(away) < revisions(urgent, ["Resuming"])["Resuming"]
    assert life.at(away) - life.at(held) < 10.0
    assert retries(away) == victim.retries
    back = life.first(is_ready, after=version_of(away))
    assert back["status"]["attempt"] == held["status"]["attempt"] + 1
    assert retries(back) == victim.retries
    assert life.phases() == [
        "",
        "Suspended",
        *victim.path,
        "Suspending",
        "Suspended",
        "Resuming",
        "Running",
        "Succeeded",
    ]
    assert urgent.phases()[-1] == "Succeeded"


def test_the_quota_of_a_retry_pause_is_not_given_to_an_equal_priority() -> None:
    """Another one waits for it all the while."""
    second = wrapped("second", job("second", 2, run_for="200ms"))
    life = live(
        pod("v", **FAILS_ONCE),
        pod("w"),
        beside=((8.0, second),),
        capacity=2,
        periods=AT_ONCE | {"retryPausePeriodDuration": "1m"},
    )
    other = record(life.world, "second")
    [ended] = revisions(life, ["Succeeded"]).values()
    seen = revisions(other, ["Suspended", "Resuming"])
    assert seen["Suspended"] < ended < seen["Resuming"]
    assert steps(life, QUOTA)[3:] == [
        ("Running", QUOTA),
        ("Resetting", QUOTA),
        ("Resuming", QUOTA),
        ("Running", QUOTA),
        ("Succeeded",),
    ]


def test_a_preemption_ends_the_time_that_is_kept_for_debugging() -> None:
    kept = AT_ONCE | {"retryLimit": "0", "deletionOnFailureGracePeriodDuration": LONG}
    failing = job("v", 2, run_for="200ms", exit_code="1")
    life, urgent = preempted(Victim("kept", (failing,), is_kept, (), kept))
    assert true_conditions(life.in_phase("Failed")) >= {QUOTA, DEPLOYED, UNHEALTHY}
    last = life.events[-1].object
    assert (phase(last), true_conditions(last) & {QUOTA, DEPLOYED}) == ("Failed", set())
    assert last["spec"]["suspend"] is True
    gone = life.first(lambda item: phase(item) == "Failed" and QUOTA not in true_conditions(item))
    assert version_of(gone) < revisions(urgent, ["Resuming"])["Resuming"]
    assert life.phases() == ["", "Suspended", "Resuming", "Running", "Failed"]
    assert life.left(PODS) == []


def test_a_user_who_suspends_it_gets_everything_deleted_and_the_retries_kept() -> None:
    """Kueue starts it again, as long as it has quota."""

    def second_attempt(item: JsonObject) -> bool:
        return is_ready(item) and item["status"]["attempt"] == 2

    def suspend(world: World) -> None:
        world.cluster.store.change(
            APPWRAPPERS, NAMESPACE, NAME, lambda item: item["spec"].update(suspend=True)
        )

    sick = pod("sick", **FAILS_ONCE)
    by_hand = Once(second_attempt, suspend)
    life = live(sick, job("j", 1, run_for="1m"), acts=(by_hand,), periods=AT_ONCE)
    ready = life.first(second_attempt)
    away = life.in_phase("Suspended", after=version_of(ready))
    assert true_conditions(away) == set()
    back = life.first(is_ready, after=version_of(away))
    assert (retries(back), back["status"]["attempt"]) == (1, 3)


def test_one_with_slow_pods_is_evicted_after_growing_pauses_until_kueue_deactivates_it() -> None:
    """waitForPodsReady allows 10 s and two requeues; the pods need 20 s."""
    life = live(job(start_after="20s"), kueue=IMPATIENT)
    assert life.phases()[-1] == "Suspended"
    changes = pairwise((phase(each.object), life.at(each.object)) for each in life.events)
    times = [(new, round(at)) for (old, _), (new, at) in changes if new != old]
    assert [at for new, at in times if new == "Resuming"] == [1, 16, 36]  # waits 5 s, then 10 s
    assert [at for new, at in times if new == "Suspending"] == [11, 26, 46]
