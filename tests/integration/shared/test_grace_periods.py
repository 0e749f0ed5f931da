"""Pods that come late, and a deletion that does not end, on a real cluster.

Each grace period from both its sides: tests/simulation/lives/test_grace_periods.py.
"""

import re

from shared.api.objects import PODS, JsonObject
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod
from tests.support.cluster.life import Life
from tests.support.cluster.lives import Lives, slow_to_go
from tests.support.life_record import DELETING, DEPLOYED, QUOTA, READY, UNHEALTHY, condition, steps

LONG = "1h"
HELD = (QUOTA, DEPLOYED)


async def sick(life: Life, message: str) -> JsonObject:
    """It is unhealthy for want of pods, in Running, with its quota."""
    found = await life.until(lambda item: UNHEALTHY in true_conditions(item), "unhealthy")
    reported = condition(found, UNHEALTHY)
    assert (reported.status, reported.reason) == ("True", "InsufficientPodsReady")
    assert re.fullmatch(message, reported.message), reported.message
    assert (phase(found), true_conditions(found)) == ("Running", {*HELD, UNHEALTHY})
    return found


async def healed(life: Life, *, after: JsonObject) -> JsonObject:
    """Nothing was reset."""
    found = await life.until(
        lambda item: (
            version_of(item) > version_of(after) and UNHEALTHY not in true_conditions(item)
        ),
        "healthy again",
    )
    assert (phase(found), found["status"]["attempt"]) == ("Running", 1)
    assert "resettingCount" not in found["status"]
    assert "Resetting" not in life.phases()
    return found


async def test_pods_that_are_made_after_the_admission_grace_heal_it_within_the_failure_grace(
    lives: Lives,
) -> None:
    graces = {
        "admissionGracePeriodDuration": "1s",
        "warmupGracePeriodDuration": LONG,
        "failureGracePeriodDuration": LONG,
    }
    async with lives.forbidden("pods"):
        body = appwrapper("unmade", job("unmade", hang="running"), annotations=graces)
        life = await lives.begin(body)
        unhealthy = await sick(life, "0 of 2 pods exist")
    await healed(life, after=unhealthy)
    await life.until(lambda item: READY in true_conditions(item), "all pods ready")


async def test_pods_that_ignore_their_deletion_are_forced_off_after_its_grace(
    lives: Lives,
) -> None:
    """First with no more time than a deletion may take, then with hardly any."""
    graces = {**AT_ONCE, "forcefulDeletionGracePeriodDuration": "2s"}
    template = slow_to_go(pod("stubborn", hang="running", ignore_deletion_for="1h"))
    life = await lives.begin(appwrapper("stubborn", template, annotations=graces))
    await life.until(lambda item: READY in true_conditions(item), "ready")
    await lives.set_active(life, active=False)
    going = await life.until_phase("Suspending")
    assert true_conditions(going) >= {QUOTA, DEPLOYED, DELETING}
    away = await life.until_phase("Suspended", after=version_of(going))
    assert true_conditions(away) == set()
    assert await lives.names(PODS, life) == []
    await life.check_the_promise_to_kueue()  # returns when the watch of pods has caught up
    periods = [
        event.object["metadata"].get("deletionGracePeriodSeconds") for event in life.pod_events
    ]
    given = [each for each in periods if each is not None]
    assert (given[0], given[-1]) == (2, 0)
    assert steps(life, QUOTA, DEPLOYED)[-2:] == [("Suspending", QUOTA, DEPLOYED), ("Suspended",)]
