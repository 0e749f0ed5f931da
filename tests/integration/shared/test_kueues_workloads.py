"""Kueue's own record of an AppWrapper: one for all that is wrapped, and finished for good."""

from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import JsonObject
from tests.support.builders.appwrappers import appwrapper, true_conditions
from tests.support.builders.jobs import job, pytorch_job, scaled
from tests.support.builders.pods import pod_template
from tests.support.cluster.life import Life, listed
from tests.support.cluster.lives import NAMESPACE, Lives, requesting
from tests.support.cluster.resources import WORKLOADS
from tests.support.life_record import READY
from tests.support.patience import comes_to

pytestmark = pytest.mark.kueue

HALF = "1"  # CPU, of the team's two


async def records(lives: Lives, life: Life) -> list[JsonObject]:
    """The Workloads of the AppWrapper and of all that it owns."""
    created = life.events[0].object["metadata"]
    owners = {created["uid"], created["name"]}
    return [
        each
        for each in await listed(lives.client, WORKLOADS, NAMESPACE)
        if any(
            {owner["uid"], owner["name"]} & owners
            for owner in each["metadata"].get("ownerReferences") or ()
        )
    ]


def training(name: str) -> JsonObject:
    template = pod_template(container="pytorch", hang="running")
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": HALF}}
    return pytorch_job(name, Master=template, Worker=template)


FILLING: list[Any] = [
    pytest.param(requesting(HALF, job("fills", hang="running")), id="Job"),
    pytest.param(requesting(HALF, scaled("Deployment", "fills")), id="Deployment"),
    pytest.param(training("fills"), id="PyTorchJob"),
]


@pytest.mark.parametrize("component", FILLING)
async def test_an_appwrapper_of_the_whole_quota_runs_under_one_workload(
    cluster: RunningCluster, lives: Lives, component: JsonObject
) -> None:
    """Were it counted for the component once more, there would be no room for its pods."""
    if component["kind"] == "PyTorchJob" and "training-operator" not in cluster.options.components:
        pytest.skip("needs the Training Operator: --with training-operator")
    life = await lives.begin(appwrapper("fills", component))
    await life.until(lambda item: READY in true_conditions(item), "all pods ready")

    async def number() -> int:
        return len(await records(lives, life))

    # Kueue may be slow to let go of that of the AppWrapper before, which has the same name.
    await comes_to(number, 1)
    [record] = await records(lives, life)
    [owner] = record["metadata"]["ownerReferences"]
    assert owner["kind"] == "AppWrapper"
    usage = record["status"]["admission"]["podSetAssignments"]
    millis = [each["resourceUsage"]["cpu"] for each in usage]
    assert sum(int(each) for each in millis) == 2


async def test_a_succeeded_appwrapper_is_finished_and_never_queued_again(lives: Lives) -> None:
    life = await lives.begin(appwrapper("finishes", job("finishes", run_for="300ms")))
    await life.until_phase("Succeeded")

    async def finished() -> list[str]:
        return [
            each["reason"]
            for each in (await lives.workload(life))["status"]["conditions"]
            if (each["type"], each["status"]) == ("Finished", "True")
        ]

    await comes_to(finished, ["Succeeded"])
    before = await lives.workload(life)
    await lives.annotate("finishes", retryLimit="1")
    # Kueue has its time to look at what changed: the life of another one.
    other = await lives.begin(appwrapper("witness", job("witness", run_for="300ms")))
    await other.until_phase("Succeeded")
    [after] = await records(lives, life)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert not life.events[-1].object["spec"].get("suspend")
    assert life.phases() == ["", "Suspended", "Resuming", "Running", "Succeeded"]
