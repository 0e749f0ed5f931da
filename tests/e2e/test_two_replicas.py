"""Two controllers in pods, as docs/admins/two-replicas.md describes them.

A leader that ends by itself releases the Lease, and nobody waits until it expires. The seconds that
the page promises are asserted in virtual time, by tests/simulation/test_leadership.py: on a busy
machine the requests alone take some.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path

import pytest

from localcluster.cluster import LocalCluster
from localcluster.machine.slowness import stretched
from shared.api.names import LEASE_NAME
from shared.api.objects import LEASES, NODES, JsonObject, Resource
from shared.kube.client import PatchType, TooManyRequests, Unreachable, WatchEventType
from tests.e2e.containers import job
from tests.e2e.product_pods import (
    SYSTEM,
    holder_of,
    identities,
    metrics_of,
    pods_of,
    process_of,
    until_whole,
)
from tests.e2e.research_team import REAL_NODE, ResearchTeam
from tests.support.builders.appwrappers import appwrapper
from tests.support.cluster.kubectl import Kubectl
from tests.support.manifests import ROOT
from tests.support.patience import LOOK_EVERY_SECONDS, comes_to, until_found
from tests.support.walkthrough import Person, blocks_of

PAGE = ROOT / "docs" / "admins" / "two-replicas.md"
LEADS = 'leader_election_master_status{name="appwrapper-controller"} 1.0\n'
# Seconds: twice what the page promises for a leader that is killed.
EXPIRED = stretched(30.0)
# A Lease that nobody released would be taken after eight, at the earliest.
RELEASED = stretched(7.0)
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
BUDGET = "appwrapper-controller"


async def until_led(cluster: LocalCluster) -> tuple[JsonObject, str]:
    """Two controllers are ready. Returns the pod that leads, by its metrics too, and the holder."""
    await until_whole(cluster)

    async def look() -> tuple[JsonObject, str] | None:
        holder = await holder_of(cluster)
        for pod in await pods_of(cluster, "controller"):
            if holder.startswith(f"{pod['metadata']['name']}_"):
                return (pod, holder) if LEADS in await metrics_of(pod) else None
        return None

    return await until_found(look)


@asynccontextmanager
async def holders(cluster: LocalCluster) -> AsyncGenerator[list[str]]:
    """The Lease's holders from now on, each once in a row, in etcd's order; "" if released."""
    lease = await cluster.client.get(LEASES, SYSTEM, LEASE_NAME)
    found = [str(lease["spec"].get("holderIdentity") or "")]
    following = asyncio.create_task(
        _follow(cluster, lease["metadata"]["resourceVersion"], found), name="holders"
    )
    try:
        yield found
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def _follow(cluster: LocalCluster, version: str, found: list[str]) -> None:
    while True:
        stream = cluster.client.watch(LEASES, SYSTEM, resource_version=version)
        async with aclosing(stream):
            with suppress(Unreachable, TooManyRequests):
                async for event in stream:
                    metadata = event.object["metadata"]
                    version = metadata["resourceVersion"]
                    if event.type is WatchEventType.BOOKMARK or metadata["name"] != LEASE_NAME:
                        continue
                    holder = str(event.object["spec"].get("holderIdentity") or "")
                    if found[-1] != holder:
                        found.append(holder)
        await asyncio.sleep(LOOK_EVERY_SECONDS)


async def another_leads(seen: list[str], former: str, seconds: float = EXPIRED) -> None:
    """Waits until another holder has the Lease, for as long as an unreleased one counts."""

    async def look() -> bool:
        return seen[-1] not in ("", former)

    await comes_to(look, True, seconds)


@pytest.mark.long
async def test_the_page_shows_who_leads(node_cluster: LocalCluster, tmp_path: Path) -> None:
    await until_led(node_cluster)
    path = f"{node_cluster.kubectl.parent}:{os.environ['PATH']}"
    environment = {"KUBECONFIG": str(node_cluster.kubeconfig), "PATH": path}
    person = Person(ROOT, environment, tmp_path)
    blocks = blocks_of(PAGE)
    assert [each.shown is not None for each in blocks] == [True, True]
    for block in blocks:
        await person.types(block)


async def test_when_the_leader_ends_by_itself_the_standby_leads_within_seconds(
    node_cluster: LocalCluster, team: ResearchTeam, admin: Kubectl
) -> None:
    """The leader releases the Lease, so that nobody waits for its end."""
    leader, holder = await until_led(node_cluster)
    before = identities(await pods_of(node_cluster, "controller"))
    async with holders(node_cluster) as seen:
        await admin("delete", "pod", "-n", SYSTEM, leader["metadata"]["name"], "--wait=false")

        async def is_given_up() -> bool:
            return seen[-1] != holder

        await comes_to(is_given_up, True, EXPIRED)
        await another_leads(seen, holder, RELEASED)
    assert seen[:2] == [holder, ""]
    await something_runs_once(team, "released")

    await until_led(node_cluster)
    after = identities(await pods_of(node_cluster, "controller"))
    assert len(before & after) == 1


async def test_when_the_leader_is_killed_another_process_leads_within_its_lease(
    node_cluster: LocalCluster, team: ResearchTeam
) -> None:
    leader, holder = await until_led(node_cluster)
    async with holders(node_cluster) as seen:
        os.kill(process_of(leader).pid, signal.SIGKILL)
        await another_leads(seen, holder)
    # Nobody released it.
    assert "" not in seen
    assert seen[0] == holder
    await something_runs_once(team, "expired")
    await until_led(node_cluster)


async def test_a_drain_evicts_the_leader_under_load_and_waits_before_it_evicts_the_other(
    node_cluster: LocalCluster, team: ResearchTeam
) -> None:
    """As `kubectl drain` does it. The only node is usable again after the evictions."""
    leader, holder = await until_led(node_cluster)
    standby = next(
        each
        for each in await pods_of(node_cluster, "controller")
        if each["metadata"]["uid"] != leader["metadata"]["uid"]
    )
    await until_one_may_be_evicted(node_cluster)
    names = [f"drained-{number}" for number in range(5)]
    lives = [await team.submit(appwrapper(name, job(name, "sleep 3"))) for name in names]
    async with holders(node_cluster) as seen:
        async with cordoned(node_cluster):
            await evict(node_cluster, leader)
            with pytest.raises(TooManyRequests, match="violate the pod's disruption budget"):
                await evict(node_cluster, standby)
        await another_leads(seen, holder)
    assert seen[:2] == [holder, ""]
    for life in lives:
        ended = await life.until_phase("Succeeded")
        assert ended["status"]["attempt"] == 1
        await life.check_the_promise_to_kueue()
    await until_led(node_cluster)


async def until_one_may_be_evicted(cluster: LocalCluster) -> None:
    """The controller manager counts the ready pods a moment later than they are ready."""

    async def look() -> tuple[int, int]:
        status = (await cluster.client.get(BUDGETS, SYSTEM, BUDGET)).get("status", {})
        return status.get("currentHealthy", 0), status.get("disruptionsAllowed", 0)

    await comes_to(look, (2, 1))


@asynccontextmanager
async def cordoned(cluster: LocalCluster) -> AsyncGenerator[None]:
    """The node takes no pods: once the leader's successor is ready, the standby may go as well."""

    async def mark(unschedulable: bool | None) -> None:
        patch = {"spec": {"unschedulable": unschedulable}}
        await cluster.client.patch(NODES, None, REAL_NODE, patch, PatchType.MERGE)

    await mark(True)
    try:
        yield
    finally:
        await mark(None)


async def evict(cluster: LocalCluster, pod: JsonObject) -> None:
    name = pod["metadata"]["name"]
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": SYSTEM},
    }
    path = f"/api/v1/namespaces/{SYSTEM}/pods/{name}/eviction"
    await cluster.client.post(path, eviction, retry=False)


async def something_runs_once(team: ResearchTeam, name: str) -> None:
    life = await team.submit(appwrapper(name, job(name, "exit 0")))
    ended = await life.until_phase("Succeeded")
    assert ended["status"]["attempt"] == 1
    await life.check_the_promise_to_kueue()
