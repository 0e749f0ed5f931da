"""What keeps a cluster safe from its own resets: the breaker, the pause, the pace."""

import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, CONFIGMAPS, EVENTS, JsonObject
from shared.api.times import parse_time
from shared.kube.client import Propagation
from tests.support.builders.appwrappers import (
    AT_ONCE,
    appwrapper,
    phase,
    true_conditions,
    version_of,
)
from tests.support.builders.autopilot import GPU
from tests.support.builders.jobs import job
from tests.support.cluster.explaining import answer
from tests.support.cluster.gpu_nodes import (
    PAGE,
    RUNS,
    GpuNodes,
    gpu_appwrapper,
    gpu_nodes,
    says,
    typed,
    unhealthy,
)
from tests.support.cluster.life import Life, listed
from tests.support.cluster.reconfigured import pause_resets, reconfigured
from tests.support.cluster.workloads import set_active
from tests.support.patience import comes_to
from tests.support.team import NAMESPACE
from tests.support.walkthrough import commands_below

OPERATOR = "appwrapper-system"
RECORD = "appwrapper-node-health"
KEY = "evacuationBreakers"
OPEN = "appwrapper_evacuation_breaker_open"
WAITING = "appwrapper_resets_waiting"
# The shared cluster has 8 nodes: the second that turns opens it.
LOW_LIMITS = {"percent": 20, "minimumNodes": 4, "window": "10m"}
HELD = (
    "so many nodes turned NoExecute or unreachable at once for nvidia.com/gpu that an admin must "
    f"confirm evacuations (ConfigMap {OPERATOR}/{RECORD})"
)
PAUSED = "an admin has paused all resets (pauseResets)"


@pytest_asyncio.fixture
async def nodes(cluster: LocalCluster) -> AsyncIterator[GpuNodes]:
    async with gpu_nodes(cluster) as nodes:
        yield nodes


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def low_limits(cluster: LocalCluster) -> AsyncIterator[None]:
    """Two nodes open the controller's breaker. One restart is for all tests of the breaker.

    The limits last until the last test of the module; none of the others labels two nodes.
    """
    async with reconfigured(cluster, "controller", evacuationBreaker=LOW_LIMITS):
        yield


@pytest_asyncio.fixture
async def breaker(low_limits: None, nodes: GpuNodes) -> AsyncIterator[GpuNodes]:
    """Yields the nodes under these limits. The next test finds no label, and a closed breaker."""
    yield nodes
    await nodes.put_back()
    await nodes.shows("appwrapper_nodes_no_execute", 0, resource=GPU)
    await nodes.shows(OPEN, 0, resource=GPU)


async def record(nodes: GpuNodes) -> Any:
    """What is written down of the breaker of GPUs, and a confirmation that is not yet read."""
    item = await nodes.client.get(CONFIGMAPS, OPERATOR, RECORD)
    annotations = item["metadata"].get("annotations") or {}
    unread = {key: each for key, each in annotations.items() if key.endswith("confirm-evacuations")}
    return unread | json.loads(item.get("data", {}).get(KEY, "{}")).get(GPU, {})


async def two_bad_nodes(nodes: GpuNodes, name: str, **second_has: Any) -> tuple[Life, Life]:
    """The first was evacuated from its node; the second may not, for then the breaker opened."""
    first = await nodes.runs(gpu_appwrapper(f"{name}-1"))
    second = await nodes.runs(gpu_appwrapper(f"{name}-2", **second_has))
    await nodes.label(await nodes.node_of(first), "EVICT")
    await first.until_phase("Resetting")
    await nodes.label(await nodes.node_of(second), "EVICT")
    return first, second


def evacuation_of(node: str, life: Life) -> str:
    (name,) = {
        event.object["metadata"]["name"]
        for event in life.pod_events
        if event.object["spec"].get("nodeName") == node
    }
    return f"node {node} (autopilot.ibm.com/gpuhealth=EVICT): pod {name} uses {GPU}; {HELD}"


OPENED = (
    f"2 of 8 nodes turned NoExecute or unreachable for {GPU} within 10m, or were so when the "
    "controller started; evacuations wait. If these nodes really are bad: kubectl annotate "
    f"configmap {RECORD} -n {OPERATOR} workload.codeflare.dev/confirm-evacuations={GPU}"
)


async def test_the_breaker_holds_survives_a_crash_and_gives_way_to_an_admin(
    cluster: LocalCluster, breaker: GpuNodes
) -> None:
    first, second = await two_bad_nodes(breaker, "breaker")
    bad = await breaker.node_of(second)
    held = await second.until(says("EvacuationBreakerOpen"), "that its evacuation waits")
    await second.caught_up()  # its pods come by another watch
    assert unhealthy(held)[2] == evacuation_of(bad, second)
    assert phase(held) == "Running"
    await breaker.shows(OPEN, 1, resource=GPU)
    await breaker.shows(WAITING, 1, reason="breaker")

    async def is_recorded() -> bool:
        return "openedAt" in await record(breaker)

    async def opened() -> list[str]:
        messages = [each["message"] for each in await events(breaker, "EvacuationBreakerOpen")]
        # Other tests of this cluster open it with another number of nodes.
        return [message for message in messages if message.startswith("2 of 8 nodes ")]

    await comes_to(is_recorded, True)
    await comes_to(opened, [OPENED])  # what is not told yet dies with the process
    await cluster.processes.stop("controller", patience=0)
    await cluster.processes.restart("controller")
    await breaker.shows(WAITING, 1, reason="breaker")
    assert second.phases() == ["", "Suspended", "Resuming", "Running"]

    async def page_shows_the_record() -> bool:  # which the new process may be writing
        shown = await typed(cluster, commands_below("### The stored record", PAGE))
        stored = await breaker.client.get(CONFIGMAPS, OPERATOR, RECORD)
        return bool(shown == stored["data"][KEY])

    await comes_to(page_shows_the_record, True)
    output = await typed(cluster, commands_below("## The evacuation breaker", PAGE))
    assert output == f"configmap/{RECORD} annotated\n"
    resetting = await second.until_phase("Resetting")
    assert unhealthy(resetting)[1] == "AutopilotNoExecute"
    again = await second.until(
        lambda item: version_of(item) > version_of(resetting) and true_conditions(item) == RUNS,
        "all of its pods running again",
    )
    assert again["status"]["attempt"] == 2
    assert again["status"].get("resettingCount", 0) == 0
    assert await breaker.node_of(second) != bad
    await breaker.shows(OPEN, 0, resource=GPU)

    async def kept() -> list[str]:
        return list(await record(breaker))

    await comes_to(kept, ["confirmedAt", "noExecute"])
    assert await opened() == [OPENED]
    await first.check_the_promise_to_kueue()
    await second.check_the_promise_to_kueue()


async def test_the_breaker_closes_when_the_labels_are_removed_and_no_pod_was_evacuated(
    breaker: GpuNodes,
) -> None:
    # Without a retry it would have failed for a label that was wrong.
    _, second = await two_bad_nodes(breaker, "breaker-fell", retryLimit="0")
    bad = await breaker.node_of(second)
    held = await second.until(says("EvacuationBreakerOpen"), "that its evacuation waits")
    await breaker.label(bad, "PASS")
    await second.until(
        lambda item: version_of(item) > version_of(held) and true_conditions(item) == RUNS,
        "that it is well again",
    )
    await breaker.shows(OPEN, 0, resource=GPU)
    await breaker.shows(WAITING, 0, reason="breaker")
    assert second.phases() == ["", "Suspended", "Resuming", "Running"]


async def test_an_open_breaker_holds_evacuations_and_nothing_else(breaker: GpuNodes) -> None:
    _, second = await two_bad_nodes(breaker, "breaker-else")
    held = await second.until(says("EvacuationBreakerOpen"), "that its evacuation waits")
    assert await answer(breaker.cluster, NAMESPACE, "breaker-else-2") == (
        "EvacuationBreakerOpen",
        f"breaker-else-2 is unhealthy, and its reset must wait: {unhealthy(held)[2]}.",
    )
    failing = await breaker.begin(
        appwrapper("breaker-fails", job("breaker-fails", 1, fail_attempts="1"), annotations=AT_ONCE)
    )
    ended = await failing.until_phase("Succeeded")
    assert ended["status"]["resettingCount"] == 1
    # One that is held may be suspended as any other, and its pods go.
    await set_active(breaker.client, second.events[0].object["metadata"]["uid"], False)
    await second.until_phase("Suspending")


async def events(nodes: GpuNodes, reason: str) -> list[JsonObject]:
    """On the record."""
    found = await listed(nodes.client, EVENTS, OPERATOR)
    return [
        each
        for each in found
        if each["reason"] == reason and each["involvedObject"]["name"] == RECORD
    ]


@pytest.fixture
def pausing(cluster: LocalCluster) -> Any:
    """In the end nothing is paused."""
    yield lambda paused: pause_resets(cluster, paused)
    pause_resets(cluster, False)


async def test_a_pause_stops_resets_and_evacuations_but_no_suspension_and_no_deletion(
    nodes: GpuNodes, pausing: Any
) -> None:
    driven = await nodes.runs(gpu_appwrapper("pause-driven"))
    suspended = await nodes.runs(gpu_appwrapper("pause-suspended"))
    deleted = await nodes.runs(gpu_appwrapper("pause-deleted"))
    pausing(True)
    await nodes.shows("appwrapper_resets_paused", 1)
    failing = await nodes.begin(
        appwrapper("pause-failing", job("pause-failing", 1, fail_attempts="1"), annotations=AT_ONCE)
    )
    await nodes.label(await nodes.node_of(driven), "EVICT")
    for life in (driven, failing):
        held = await life.until(says("ResetsPaused"), "that its reset waits")
        assert phase(held) == "Running"
        assert unhealthy(held)[2].endswith(f"; {PAUSED}")
        name = held["metadata"]["name"]
        assert await answer(nodes.cluster, NAMESPACE, name) == (
            "ResetsPausedByAdmin",
            f"{name} is unhealthy, and its reset must wait: {unhealthy(held)[2]}.",
        )
    await nodes.shows(WAITING, 2, reason="paused")
    uid = suspended.events[0].object["metadata"]["uid"]
    await set_active(nodes.client, uid, False)  # what a user suspends Kueue may start again at once
    await suspended.until_phase("Suspending")
    await nodes.client.delete(
        APPWRAPPERS, NAMESPACE, "pause-deleted", uid=None, propagation=Propagation.BACKGROUND
    )
    await deleted.until_deleted()
    assert driven.phases() == failing.phases() == ["", "Suspended", "Resuming", "Running"]
    pausing(False)
    await driven.until_phase("Resetting")
    ended = await failing.until_phase("Succeeded")
    assert ended["status"]["resettingCount"] == 1
    await nodes.shows(WAITING, 0, reason="paused")


async def test_the_command_for_a_pause_opens_the_configuration(cluster: LocalCluster) -> None:
    command = commands_below("## Stopping all resets", PAGE)
    output = await typed(cluster, command, EDITOR="cat")
    assert "config.yaml: |" in output
    assert "name: appwrapper-operator-config" in output


PER_SECOND, BURST, MANY = 2, 2, 20
THROTTLED = f"resets in this cluster are paced at {PER_SECOND} a second"


@pytest.mark.long
async def test_many_that_fail_at_once_are_reset_at_the_configured_pace(
    cluster: LocalCluster, nodes: GpuNodes, pausing: Any
) -> None:
    limit = {"perSecond": PER_SECOND, "burst": BURST}
    # Paused at first, so that all of them ask at the same moment, however slow the machine is.
    async with reconfigured(cluster, "controller", resetRateLimit=limit, pauseResets=True):
        lives = []
        for number in range(MANY):
            name = f"pace-{number}"
            body = job(name, 1, run_for="100ms", fail_attempts="1")
            lives.append(await nodes.begin(appwrapper(name, body, annotations=AT_ONCE)))
        for life in lives:
            await life.until(says("ResetsPaused"), "that its reset waits")
        await nodes.shows(WAITING, MANY, reason="paused")
        pausing(False)
        moments = []
        for life in lives:
            resetting = await life.until_phase("Resetting")
            began = resetting["status"]["timers"]["forcefulDeletion"]["began"]
            moments.append(parse_time(began))
            ended = await life.until_phase("Succeeded")
            assert ended["status"]["resettingCount"] == 1
            assert life.phases()[3:] == ["Running", "Resetting", "Resuming", "Running", "Succeeded"]
        check_the_pace(sorted(moments))
        throttled = [message for life in lives if (message := throttling(life))]
        assert {message.rpartition("; ")[2] for message in throttled} == {THROTTLED}
        # Who was not of the burst, nor of those whose turn came while the first passes ran.
        assert len(throttled) >= MANY / 2
        await nodes.shows(WAITING, 0, reason="rate")


def throttling(life: Life) -> str:
    """What the AppWrapper said while it waited for its turn, if it did."""
    found = [event.object for event in life.events if phase(event.object) == "Running"]
    return next((unhealthy(item)[2] for item in found if says("ResetThrottled")(item)), "")


def check_the_pace(moments: list[datetime]) -> None:
    """No stretch of time has seen more resets than a full bucket and what flowed in meanwhile."""
    assert len(moments) == MANY
    for first in range(MANY):
        for last in range(first, MANY):
            span = moments[last] - moments[first]
            allowed = BURST + span / timedelta(seconds=1) * PER_SECOND
            assert last - first + 1 <= allowed + 1e-6, (first, last, moments)
