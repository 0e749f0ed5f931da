"""What taints of devices do to workloads that hold them by dynamic resource allocation.

No DRA driver runs: its ResourceSlices are objects of the test. The scheduler allocates the devices,
because pods request an extended resource that a DeviceClass names. Kubernetes evicts no such pod.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest_asyncio

from controller.facts.devices import CLAIMS, RULES, SLICES
from controller.fleet.breaker import RECORD_KEY, RECORD_NAME
from localcluster.cluster import LocalCluster
from shared.api.objects import APPWRAPPERS, CONFIGMAPS, JsonObject, Resource
from shared.kube.client import NotFound, Propagation
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, true_conditions, version_of
from tests.support.builders.devices import BAD, DRIVER, raw_rule, raw_slice
from tests.support.cluster.another_team import another_team, team_documents
from tests.support.cluster.gpu_nodes import RUNS, gpu_job, says, unhealthy
from tests.support.cluster.life import Life, listed
from tests.support.cluster.removed import removed
from tests.support.patience import comes_to
from tests.support.team import own

TEAM = own("devices")
GPU = f"{DRIVER}/gpu"
SYSTEM = "appwrapper-system"
CLASSES = Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False)
# The first of these nodes exist. The others only make a breaker possible.
POOLS = [f"gpu-node-{number}" for number in range(1, 13)]


def documents() -> list[JsonObject]:
    """Return the team's documents; its ClusterQueue also covers the devices."""
    found = team_documents(TEAM)
    for each in found:
        if each["kind"] == "ClusterQueue":
            group = each["spec"]["resourceGroups"][0]
            group["coveredResources"].append(GPU)
            for flavor in group["flavors"]:
                flavor["resources"].append({"name": GPU, "nominalQuota": 8})
    return found


class Devices:
    """Creates AppWrappers that hold devices, and taints the devices."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.client = cluster.client
        self._stack = AsyncExitStack()
        self._tainted: set[str] = set()

    async def runs(self, name: str, pods: int = 1) -> Life:
        """Create it and wait until all of its pods run."""
        job = gpu_job(name, pods, gpus=0)
        pod = job["spec"]["template"]["spec"]
        pod["schedulerName"] = "default-scheduler"  # Coscheduler allocates no devices
        pod["containers"][0]["resources"] = {"limits": {GPU: "1"}}
        life = await self._stack.enter_async_context(Life(self.client, TEAM, name))
        body = appwrapper(name, job, annotations={**AT_ONCE, "retryLimit": "1"})
        body["metadata"]["namespace"] = TEAM
        await self.client.create(APPWRAPPERS, TEAM, body)
        self._stack.push_async_callback(self._end, life, name)
        await life.until(lambda item: true_conditions(item) == RUNS, "all of its pods running")
        return life

    async def held(self) -> dict[str, tuple[str, str]]:
        """Return by pod the pool and the name of the device that it holds, live."""
        return {
            each["status"]["reservedFor"][0]["name"]: (device["pool"], device["device"])
            for each in await listed(self.client, CLAIMS, TEAM)
            if (each.get("status") or {}).get("reservedFor")
            for device in each["status"]["allocation"]["devices"]["results"]
        }

    @asynccontextmanager
    async def rule(self, selector: JsonObject) -> AsyncIterator[str]:
        """Taint what the selector matches."""
        name = own("bad")
        body = {**raw_rule(name, selector), "apiVersion": "resource.k8s.io/v1", "kind": RULES.kind}
        await self.client.create(RULES, None, body)
        try:
            yield name
        finally:
            await removed(self.client, RULES, None, name)

    async def taint(self, pool: str, device: str) -> None:
        """Write the taint into the ResourceSlice, as a driver does."""
        self._tainted.add(pool)
        name = slice_name(pool)
        stored = await self.client.get(SLICES, None, name)
        for each in stored["spec"]["devices"]:
            each.pop("taints", None)
            if each["name"] == device:
                each["taints"] = [BAD]
        await self.client.update(SLICES, None, name, stored)

    async def _end(self, life: Life, name: str) -> None:
        with suppress(NotFound):
            await self.client.delete(
                APPWRAPPERS, TEAM, name, uid=None, propagation=Propagation.BACKGROUND
            )
        await life.until_deleted()

    async def close(self) -> None:
        await self._stack.aclose()
        for each in self._tainted:
            await self.taint(each, "")


def slice_name(pool: str) -> str:
    return own(f"{pool}-{DRIVER}")


def published(pool: str) -> JsonObject:
    made = raw_slice(pool, "gpu-0", "gpu-1", name=slice_name(pool))
    return {**made, "apiVersion": "resource.k8s.io/v1", "kind": SLICES.kind}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def team(cluster: LocalCluster) -> AsyncIterator[None]:
    selects = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    kind = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": CLASSES.kind,
        "metadata": {"name": DRIVER},
        "spec": {"selectors": [selects], "extendedResourceName": GPU},
    }
    await cluster.apply([kind, *map(published, POOLS)])
    try:
        async with another_team(cluster, TEAM, documents()):
            yield
    finally:
        await removed(cluster.client, CLASSES, None, DRIVER)
        for each in POOLS:
            await removed(cluster.client, SLICES, None, slice_name(each))


@pytest_asyncio.fixture
async def devices(cluster: LocalCluster, team: None) -> AsyncIterator[Devices]:
    found = Devices(cluster)
    try:
        yield found
    finally:
        await found.close()


async def runs_again(life: Life, before: JsonObject) -> JsonObject:
    """Return the state in which all of its pods run in attempt 2."""
    return await life.until(
        lambda item: (
            version_of(item) > version_of(before)
            and true_conditions(item) == RUNS
            and item["status"]["attempt"] == 2
        ),
        "all of its pods running in attempt 2",
    )


async def evacuated(devices: Devices, life: Life, why: str, bad: tuple[str, str]) -> None:
    """Check that it moves to another device, without a retry, and says why."""
    resetting = await life.until_phase("Resetting")
    status, reason, message = unhealthy(resetting)
    assert (status, reason) == ("True", "DeviceTainted")
    pool, device = bad
    assert message.startswith(f"node {pool} (taint example.com/health=bad:NoExecute{why}): pod ")
    assert message.endswith(f" uses device {DRIVER}/{pool}/{device}")
    cause = resetting["status"]["rootCause"]
    assert (cause["code"], cause["node"]) == ("DeviceTainted", pool)
    assert "suspectNodes" not in resetting["status"]
    again = await runs_again(life, resetting)
    assert again["status"].get("resettingCount", 0) == 0
    assert bad not in (await devices.held()).values()
    assert life.phases()[-4:] == ["Running", "Resetting", "Resuming", "Running"]
    await life.check_the_promise_to_kueue()


async def test_a_rule_moves_a_workload_to_another_device(devices: Devices) -> None:
    life = await devices.runs("by-rule", pods=2)
    beside = await devices.runs("beside")
    (name,) = {each for each in await devices.held() if each.startswith("beside")}
    before = await devices.held()
    bad = next(each for pod, each in before.items() if pod != name)
    selector = {"driver": DRIVER, "pool": bad[0], "device": bad[1]}
    async with devices.rule(selector) as rule:
        await evacuated(devices, life, f" of DeviceTaintRule {rule}", bad)
        assert (await devices.held())[name] == before[name]
        assert beside.phases() == ["", "Suspended", "Resuming", "Running"]


async def test_a_taint_of_the_driver_does_the_same(devices: Devices) -> None:
    life = await devices.runs("by-driver")
    (bad,) = (await devices.held()).values()
    await devices.taint(*bad)
    await evacuated(devices, life, "", bad)


async def test_the_breaker_holds_what_a_rule_for_everything_would_evacuate(
    devices: Devices,
) -> None:
    life = await devices.runs("by-mistake")
    before = await devices.held()
    async with devices.rule({}):
        held = await life.until(says("EvacuationBreakerOpen"), "a held evacuation")
        assert f"at once for {DRIVER} that an admin must confirm" in unhealthy(held)[2]
        assert await devices.held() == before
    await life.until(lambda item: true_conditions(item) == RUNS, "a healthy AppWrapper")
    assert life.phases() == ["", "Suspended", "Resuming", "Running"]

    async def opened() -> bool:
        record = await devices.client.get(CONFIGMAPS, SYSTEM, RECORD_NAME)
        return "openedAt" in record["data"].get(RECORD_KEY, "")

    await comes_to(opened, False)
