"""AppWrappers that another operator left: their periods go on from where its conditions say.

What the Go operator would have written is written by hand while no controller runs.
"""

from datetime import timedelta

import pytest

from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from shared.api.times import format_time
from shared.kube.client import PatchType, Propagation
from shared.process.clock import SystemClock
from tests.support.builders.appwrappers import appwrapper, phase, true_conditions, version_of
from tests.support.builders.pods import pod
from tests.support.cluster.crashes import controller_away
from tests.support.cluster.life import Life, exists
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.life_record import DEPLOYED, READY, UNHEALTHY
from tests.support.patience import comes_to

pytestmark = pytest.mark.long

PERIODS = ("failureGracePeriodDuration", "retryPausePeriodDuration")
OLD, YOUNG = timedelta(hours=2), timedelta(minutes=1)
SINCE = {"grace-old": OLD, "grace-young": YOUNG, "pause-old": OLD, "pause-young": YOUNG}


def aged(kind: str, status: str, reason: str, age: timedelta) -> JsonObject:
    since = format_time(SystemClock().now() - age)
    words = {"reason": reason, "message": ""}
    return {"type": kind, "status": status, "lastTransitionTime": since, **words}


def left_by_the_go_operator(item: JsonObject, name: str) -> JsonObject:
    """Its words, and none of ours."""
    age = SINCE[name]
    resets = name.startswith("pause")
    conditions = [aged(UNHEALTHY, "True", "FoundFailedPods", age)]
    if resets:
        conditions.append(aged(DEPLOYED, "False", "Resetting", age))
    kinds = {each["type"] for each in conditions}
    kept = [each for each in item["status"]["conditions"] if each["type"] not in kinds]
    status = {"conditions": [*kept, *conditions], "timers": None, "attempt": None}
    return status | ({"phase": "Resetting", "resettingCount": 1} if resets else {})


async def hand_over(lives: Lives, life: Life, name: str) -> int:
    """The version in which no controller has seen it yet."""
    if name.startswith("pause"):
        await lives.client.delete(
            PODS, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
        )
        await comes_to(lambda: exists(lives.client, PODS, NAMESPACE, name), False)
    else:
        await lives.patch_pod(name, {"phase": "Failed"})
    stored = await lives.client.get(APPWRAPPERS, NAMESPACE, name)
    body = {"status": left_by_the_go_operator(stored, name)}
    written = await lives.client.patch(
        APPWRAPPERS, NAMESPACE, name, body, PatchType.MERGE, subresource="status"
    )
    return version_of(written)


@pytest.mark.writes_status(*SINCE)
async def test_periods_that_another_operator_began_go_on(
    cluster: LocalCluster, lives: Lives
) -> None:
    """Each an hour: what began two hours ago is over, and what began a minute ago is not."""
    begun: dict[str, Life] = {}
    for name in SINCE:
        body = appwrapper(
            name, pod(name, hang="running"), queued=False, annotations=dict.fromkeys(PERIODS, "1h")
        )
        begun[name] = await lives.begin(body)
    for life in begun.values():
        await life.until(lambda item: READY in true_conditions(item), "all pods ready")
    async with controller_away(cluster):
        versions = {name: await hand_over(lives, life, name) for name, life in begun.items()}
    await begun["grace-old"].until_phase("Resetting", after=versions["grace-old"])
    await begun["pause-old"].until_phase("Resuming", after=versions["pause-old"])
    # These began to be looked at together with the others, and were left as they are.
    for name, at in (("grace-young", "Running"), ("pause-young", "Resetting")):
        assert phase(await lives.client.get(APPWRAPPERS, NAMESPACE, name)) == at
