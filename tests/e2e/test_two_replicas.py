"""Two controllers in pods, as docs/admins/two-replicas.md describes them."""

import json
import os
import signal
from pathlib import Path

import pytest

from localcluster.cluster import LocalCluster
from localcluster.machine.slowness import stretched
from shared.api.objects import JsonObject
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
from tests.e2e.research_team import ResearchTeam
from tests.support.builders.appwrappers import appwrapper
from tests.support.cluster.kubectl import Kubectl
from tests.support.manifests import ROOT
from tests.support.patience import comes_to, until_found
from tests.support.walkthrough import Person, blocks_of

PAGE = ROOT / "docs" / "admins" / "two-replicas.md"
LEADS = 'leader_election_master_status{name="appwrapper-controller"} 1.0\n'
# Seconds, as the page promises them.
RELEASED, EXPIRED = stretched(3.0), stretched(15.0)


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


async def another_leads(cluster: LocalCluster, former: str, within: float) -> None:
    async def look() -> bool:
        return await holder_of(cluster) not in ("", former)

    await comes_to(look, True, within)


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
    leader, holder = await until_led(node_cluster)
    before = identities(await pods_of(node_cluster, "controller"))
    # kubectl takes a second to start: the pod is deleted at the latest when it returns.
    await admin("delete", "pod", "-n", SYSTEM, leader["metadata"]["name"], "--wait=false")
    await another_leads(node_cluster, holder, RELEASED)
    await something_runs_once(team, "released")

    await until_led(node_cluster)
    after = identities(await pods_of(node_cluster, "controller"))
    assert len(before & after) == 1


async def test_when_the_leader_is_killed_another_process_leads_within_its_lease(
    node_cluster: LocalCluster, team: ResearchTeam
) -> None:
    leader, holder = await until_led(node_cluster)
    os.kill(process_of(leader).pid, signal.SIGKILL)
    await another_leads(node_cluster, holder, EXPIRED)
    await something_runs_once(team, "expired")
    await until_led(node_cluster)


async def test_a_drain_evicts_the_leader_under_load_and_waits_before_it_evicts_the_other(
    node_cluster: LocalCluster, team: ResearchTeam, admin: Kubectl
) -> None:
    """As `kubectl drain` does it, by evictions: the only node must stay usable here."""
    leader, holder = await until_led(node_cluster)
    standby = next(
        each
        for each in await pods_of(node_cluster, "controller")
        if each["metadata"]["uid"] != leader["metadata"]["uid"]
    )
    names = [f"drained-{number}" for number in range(5)]
    lives = [await team.submit(appwrapper(name, job(name, "sleep 3"))) for name in names]
    await evict(admin, leader)
    with pytest.raises(AssertionError, match="violate the pod's disruption budget"):
        await evict(admin, standby)
    await another_leads(node_cluster, holder, RELEASED)
    for life in lives:
        ended = await life.until_phase("Succeeded")
        assert ended["status"]["attempt"] == 1
        await life.check_the_promise_to_kueue()
    await until_led(node_cluster)


async def evict(admin: Kubectl, pod: JsonObject) -> None:
    name = pod["metadata"]["name"]
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": SYSTEM},
    }
    path = f"/api/v1/namespaces/{SYSTEM}/pods/{name}/eviction"
    await admin("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))


async def something_runs_once(team: ResearchTeam, name: str) -> None:
    life = await team.submit(appwrapper(name, job(name, "exit 0")))
    ended = await life.until_phase("Succeeded")
    assert ended["status"]["attempt"] == 1
    await life.check_the_promise_to_kueue()
