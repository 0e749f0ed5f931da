"""`appwrapper hold` and `release` as a member of a team types them, under the real Kueue."""

import asyncio
from typing import Any

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from shared.kube.client import PatchType, Propagation
from shared.waits.workload import EVICTED, WORKLOADS, has_quota, is_active, workload_of
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.cluster.lives import NAMESPACE, Lives, requesting
from tests.support.command import Ended
from tests.support.command import appwrapper as appwrapper_command
from tests.support.patience import comes_to

pytestmark = pytest.mark.kueue
MEMBER = ("--as", "alice", "--as-group", f"{NAMESPACE}-edit-group", "-n", NAMESPACE)
UNTIL = f"until you run: appwrapper release holds -n {NAMESPACE}\n"
# Phase, suspend, whether the Workload is active and has quota, the number of pods.
OUT = ("Suspended", True, False, False, 0)
RUNS = ("Running", False, True, True, 2)
NONE: JsonObject = {"metadata": {}, "spec": {}, "status": {}}


class Held:
    """The AppWrapper `holds` and its Workload."""

    def __init__(self, cluster: RunningCluster) -> None:
        self.cluster = cluster
        self.client = cluster.client

    async def typed(self, *words: str) -> Ended:
        """`appwrapper WORDS`."""
        command = (*words, "--kubeconfig", str(self.cluster.kubeconfig), *MEMBER)
        return await asyncio.to_thread(appwrapper_command, *command)

    async def item(self) -> JsonObject:
        return await self.client.get(APPWRAPPERS, NAMESPACE, "holds")

    async def workload(self) -> JsonObject:
        uid = (await self.item())["metadata"]["uid"]
        pages = self.client.pages(WORKLOADS, NAMESPACE)
        return workload_of([each async for page in pages for each in page.items], uid) or NONE

    async def state(self) -> tuple[str, bool, bool, bool, int]:
        """Reads what OUT and RUNS compare."""
        item, workload = await self.item(), await self.workload()
        selector = "workload.codeflare.dev/appwrapper=holds"
        pages = self.client.pages(PODS, NAMESPACE, label_selector=selector)
        pods = [each async for page in pages for each in page.items]
        return (
            str((item.get("status") or {}).get("phase")),
            bool(item["spec"].get("suspend")),
            is_active(workload),
            has_quota(workload),
            len(pods),
        )

    async def quota_reserved(self) -> str:
        conditions = (await self.item())["status"]["conditions"]
        return "".join(each["reason"] for each in conditions if each["type"] == "QuotaReserved")

    async def patch(self, workload: JsonObject, **spec: Any) -> None:
        name = workload["metadata"]["name"]
        await self.client.patch(WORKLOADS, NAMESPACE, name, {"spec": spec}, PatchType.MERGE)


async def running(cluster: RunningCluster, lives: Lives) -> Held:
    components = requesting("500m", job("holds", 2, hang="running"))
    life = await lives.begin(appwrapper("holds", components))
    await life.until_phase("Running")
    held = Held(cluster)
    await comes_to(held.state, RUNS)
    return held


async def test_a_held_one_stays_out_of_the_queue_until_it_is_released(
    cluster: RunningCluster, lives: Lives
) -> None:
    held = await running(cluster, lives)
    code, _, err = await held.typed("hold", "holds")
    assert (code, "add --yes" in err) == (2, True)
    stops = "holds stops: its pods are being deleted, and it stays held "
    assert await held.typed("hold", "holds", "--yes") == (0, f"{stops}{UNTIL}", "")
    await comes_to(held.state, OUT)
    assert await held.quota_reserved() == "Held"
    assert await held.typed("hold", "holds") == (0, "holds is held by alice already.\n", "")
    for words in (("list",), ("explain", "holds")):
        assert "held by alice" in (await held.typed(*words)).out
    # Kueue makes another Workload, which is active.
    first = (await held.workload())["metadata"]
    await held.client.delete(
        WORKLOADS, NAMESPACE, first["name"], uid=first["uid"], propagation=Propagation.BACKGROUND
    )

    async def is_another() -> bool:
        return (await held.workload())["metadata"].get("uid") not in (None, first["uid"])

    await comes_to(is_another, True)
    await comes_to(held.state, OUT)
    text = "holds is released: it waits in queue default-queue again.\n"
    assert await held.typed("release", "holds") == (0, text, "")
    await comes_to(held.state, RUNS)
    status = (await held.item())["status"]
    assert (status["attempt"], status.get("resettingCount", 0)) == (2, 0)


async def test_an_admins_deactivation_outlives_a_hold(
    cluster: RunningCluster, lives: Lives
) -> None:
    held = await running(cluster, lives)
    await held.patch(await held.workload(), active=False)
    await comes_to(held.state, OUT)
    assert await held.typed("hold", "holds") == (0, f"holds is held {UNTIL}", "")
    await comes_to(held.quota_reserved, "Held")
    assert (await held.typed("release", "holds")).code == 0
    await comes_to(held.quota_reserved, "Suspended")
    workload = await held.workload()
    evicted = [each for each in workload["status"]["conditions"] if each["type"] == EVICTED]
    assert [each["reason"] for each in evicted] == ["Deactivated"]
    assert await held.state() == OUT
    await held.patch(workload, active=True)
    await comes_to(held.state, RUNS)
