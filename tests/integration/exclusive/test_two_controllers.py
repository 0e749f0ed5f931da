"""Two controllers and one lease: a frozen leader, outages of the API server, and wrong clocks.

In this file two processes of its own replace the cluster's controller. The simulation
(tests/simulation/test_leadership.py and its profile "leases") has these faults in every order.
"""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from localcluster.product import NAMESPACE as PRODUCT
from shared.api.names import GO_OPERATORS_LEASE, LABEL_APPWRAPPER, LEASE_NAME
from shared.api.objects import APPWRAPPERS, LEASES, PODS, JsonObject
from shared.api.times import format_precise_time
from shared.kube.client import KubeClient, PatchType, Propagation
from shared.process.clock import SystemClock
from tests.support.builders.appwrappers import appwrapper, version_of
from tests.support.builders.jobs import job
from tests.support.cluster.changes import changes
from tests.support.cluster.controller_process import (
    LEADS,
    LEADS_NO_LONGER,
    PROGRAM,
    ControllerProcess,
    controller,
)
from tests.support.cluster.crashes import controller_away
from tests.support.cluster.fault_proxy import Fault, FaultProxy, Sent
from tests.support.cluster.faulty_lives import CreatedJobs, lived, until_it_runs
from tests.support.cluster.life import Life, listed
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.cluster.resources import JOBS
from tests.support.cluster.stages import LONG
from tests.support.cluster.unreliable_proxy import UnreliableProxy
from tests.support.observer.observer import Observer
from tests.support.patience import PATIENCE_SECONDS, comes_to

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("lives_team")]

STANDBY = "on standby: "
NOT_RELEASED = "the lease is not released: "
GO_HOLDER, GO_SECONDS = "go-operator_1", 15
OUTAGES = 5
OUTAGE_SECONDS = 10.0
BETWEEN_SECONDS = 3.0
UNEXPECTED = "appwrapper_unexpected_components_total"
AGE = "appwrapper_watch_age_seconds"
STRAYS = (
    "attempt 1 made component 0 2 times",
    "ResourcesDeployed is not True in Suspended, while pods exist",
    "QuotaReserved is not True in Suspended, while pods run",
    "gone, while pods exist",
)
# The controller, with a wall clock that is wrong by a number of seconds. Only this method reads the
# wall clock; all waits use the monotonic clock.
SKEWED = """
import sys
from datetime import timedelta
from shared.process.clock import SystemClock
right = SystemClock.now
SystemClock.now = lambda self: right(self) + timedelta(seconds={seconds})
from controller.main import main
sys.exit(main())
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session", autouse=True)
async def _without_the_clusters_own(cluster: LocalCluster) -> AsyncIterator[None]:
    async with controller_away(cluster):
        yield


@asynccontextmanager
async def lives_of(cluster: LocalCluster) -> AsyncIterator[Lives]:
    """Yield lives that end inside this block: their deletion needs a controller."""
    async with AsyncExitStack() as stack:
        yield Lives(cluster, stack)


@asynccontextmanager
async def leader_and_standby(
    cluster: LocalCluster,
    folder: Path,
    server: str,
    authority: Path | None = None,
    clocks: tuple[int, int] = (0, 0),
) -> AsyncIterator[tuple[ControllerProcess, ControllerProcess]]:
    """Start two replicas, one after the other; `authority` and `server` are the leader's."""
    first, second = (
        ("-c", SKEWED.format(seconds=seconds)) if seconds else PROGRAM for seconds in clocks
    )
    shared = server if authority is None else cluster.access.server
    async with controller(
        cluster, folder / "first", server, authority=authority, program=first
    ) as leader:
        await leader.says(LEADS)
        async with controller(cluster, folder / "second", shared, program=second) as standby:
            await standby.says(STANDBY)
            await standby.becomes("/readyz")
            yield leader, standby


async def test_creates_of_a_frozen_leader_that_land_after_the_take_over_leave_nothing(
    cluster: LocalCluster, observer: Observer, tmp_path: Path
) -> None:
    """One of the two AppWrappers is suspended by then, and the other one deleted."""
    release, landed = asyncio.Event(), asyncio.Semaphore(0)
    arrived = asyncio.Semaphore(0)

    def hold_jobs(sent: Sent) -> Fault | None:
        if sent.method != "POST" or sent.plural != "jobs":
            return None
        arrived.release()
        return Fault(held=release, acted=landed.release)

    async with (
        FaultProxy(cluster.access.server, cluster.access.authority, tmp_path) as proxy,
        leader_and_standby(cluster, tmp_path, proxy.url, proxy.authority) as (old, new),
        lives_of(cluster) as lives,
    ):
        proxy.rule = hold_jobs
        kept, gone = [
            await lives.begin(appwrapper(name, job(name, 1, hang="running"), annotations=LONG))
            for name in ("frozen-kept", "frozen-gone")
        ]
        async with asyncio.timeout(PATIENCE_SECONDS):
            await arrived.acquire()
            await arrived.acquire()
        old.child.signal(signal.SIGSTOP)
        await new.says(LEADS)
        running = await until_it_runs(kept)
        await until_it_runs(gone)
        await lives.set_active(kept, False)
        await lives.delete(APPWRAPPERS, "frozen-gone")
        suspended = await kept.until_phase("Suspended", after=version_of(running))
        await gone.until_deleted()
        await kept.check_the_promise_to_kueue()
        await gone.check_the_promise_to_kueue()
        assert await lives.names(JOBS, kept) == await lives.names(JOBS, gone) == []
        assert observer.violations() == []

        release.set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await landed.acquire()
            await landed.acquire()
        old.child.signal(signal.SIGCONT)
        await old.says(LEADS_NO_LONGER)
        await old.says(STANDBY)
        await comes_to(lambda: is_job_reported(lives), True)
        await nothing_is_left(lives, kept, gone)
        assert new.words.sample(UNEXPECTED, {}) >= 1
        only_strays_were_seen(observer, "frozen-kept", "frozen-gone")
        assert old.child.exit_code is None
        assert old.words.complaints() == new.words.complaints() == []
        assert kept.phases()[-1] == "Suspended"

        await lives.set_active(kept, True)
        again = await until_it_runs(kept, after=version_of(suspended))
        assert again["status"]["attempt"] == 2
        assert len(await lives.names(JOBS, kept)) == 1


async def is_job_reported(lives: Lives) -> bool:
    """By one of the Events: if the controller deletes the Job's pod in another pass, it says so."""
    events = await lives.events_about("frozen-kept", "UnexpectedObjects")
    return any("Job frozen-kept of attempt 1" in each["message"] for each in events)


async def nothing_is_left(lives: Lives, *ended: Life) -> None:
    async def left() -> list[str]:
        return [
            name
            for life in ended
            for resource in (JOBS, PODS)
            for name in await lives.names(resource, life)
        ]

    await comes_to(left, [])


def only_strays_were_seen(observer: Observer, *names: str) -> None:
    """No controller can prevent these: the API server made the Job, and the Job its pod."""
    for name in names:
        for each in observer.violations_of(name, NAMESPACE):
            assert each.broken.startswith(STRAYS), each


async def test_five_outages_of_the_api_server_within_two_minutes_change_no_life(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    """Each is longer than a leader may go without a renewal. A slow machine takes longer."""
    async with (
        UnreliableProxy(cluster.access.server) as proxy,
        leader_and_standby(cluster, tmp_path, proxy.url) as replicas,
        lives_of(cluster) as lives,
        CreatedJobs(lives.client) as made,
    ):

        async def leads() -> bool:
            return terms(LEADS) > terms(LEADS_NO_LONGER)

        def terms(text: str) -> int:
            return sum(each.output.count(text) for each in replicas)

        async with asyncio.TaskGroup() as group:
            for number in range(OUTAGES):
                group.create_task(lived(lives, made, f"outage-{number}"))
                await asyncio.sleep(BETWEEN_SECONDS / (2 + number))  # another moment of the lives
                await proxy.refuse()
                await asyncio.sleep(OUTAGE_SECONDS)
                await comes_to(leads, False)
                await proxy.accept()
                await comes_to(leads, True)
                await asyncio.sleep(BETWEEN_SECONDS)
        for each in replicas:
            assert each.child.exit_code is None, each.output
            assert each.words.complaints() == []
        assert terms(LEADS_NO_LONGER) >= OUTAGES


async def test_with_clocks_two_minutes_apart_a_take_over_changes_no_life(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    """From the clock that is a minute ahead to the one that is a minute behind, and back."""
    async with (
        leader_and_standby(cluster, tmp_path, cluster.access.server, clocks=(60, -60)) as (
            ahead,
            behind,
        ),
        lives_of(cluster) as lives,
        CreatedJobs(lives.client) as made,
        asyncio.TaskGroup() as group,
    ):
        for leader, other in ((ahead, behind), (behind, ahead)):
            name = "ahead" if leader is ahead else "behind"
            group.create_task(lived(lives, made, f"clock-{name}"))
            await until_it_has_a_pod(lives, f"clock-{name}-suspended")
            terms = other.output.count(LEADS)
            async with holders(cluster.client) as seen:
                leader.child.signal(signal.SIGTERM)
                await other.says(LEADS, times=terms + 1)
                await comes_to(lambda: taken_over(seen), True)
            assert await leader.ended() == 0
            # A busy API server may answer too late for a process that ends.
            assert "" in seen or NOT_RELEASED in leader.output
            assert leader.words.complaints() == []
            leader.start()
            await leader.becomes("/readyz")


async def test_a_standby_watches_components_and_queues_before_it_leads(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    async with (
        leader_and_standby(cluster, tmp_path, cluster.access.server) as (leader, standby),
        lives_of(cluster) as lives,
    ):
        body = appwrapper("warm", job("warm", 1, hang="running"), annotations=LONG)
        running = await until_it_runs(life := await lives.begin(body))

        async def watched() -> list[bool]:
            page = standby.words.metrics()
            names = ("jobs.batch", "workloads.kueue.x-k8s.io")
            return [f'{AGE}{{resource="{name}"}}' in page for name in names]

        await comes_to(watched, [True, True])
        assert LEADS not in standby.output
        leader.child.signal(signal.SIGTERM)
        await standby.says(LEADS)
        await lives.set_active(life, False)
        await life.until_phase("Suspended", after=version_of(running))
        assert standby.words.complaints() == []


async def test_while_the_go_operators_lease_is_renewed_no_replica_leads(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    """The Lease as client-go writes it. Outside a pod the Go operator itself has none."""
    async with controller(cluster, tmp_path / "waits", cluster.access.server) as process:
        await process.says(LEADS)
        async with renewed(cluster.client):
            await process.says(f"{LEADS_NO_LONGER}the Go operator runs: {GO_HOLDER} holds its")
            await process.says(f"waits for the Go operator: {GO_HOLDER} holds its lease")
            await process.becomes("/readyz")
            assert process.output.count(LEADS) == 1
        # Its last renewal counts for 15 s.
        await process.says(LEADS, times=2)
        assert process.words.complaints() == []


@asynccontextmanager
async def renewed(client: KubeClient) -> AsyncIterator[None]:
    """Hold the Go operator's Lease inside the block, then delete it. Its duration still counts."""
    body: JsonObject = {
        "metadata": {"name": GO_OPERATORS_LEASE},
        "spec": {"holderIdentity": GO_HOLDER, "leaseDurationSeconds": GO_SECONDS},
    }
    await client.create(LEASES, PRODUCT, body)

    async def renew() -> None:
        while True:
            moment = format_precise_time(SystemClock().now())
            patch = {"spec": {"renewTime": moment}}
            await client.patch(LEASES, PRODUCT, GO_OPERATORS_LEASE, patch, PatchType.MERGE)
            await asyncio.sleep(2)

    renewing = asyncio.create_task(renew())
    try:
        yield
    finally:
        renewing.cancel()
        await asyncio.wait([renewing])
        await client.delete(
            LEASES, PRODUCT, GO_OPERATORS_LEASE, uid=None, propagation=Propagation.BACKGROUND
        )


@asynccontextmanager
async def holders(client: KubeClient) -> AsyncIterator[list[str]]:
    """Record who holds the lease, in the order of its versions; empty where it was released."""
    lease = await client.get(LEASES, PRODUCT, LEASE_NAME)
    found = [holder_of(lease)]

    async def follow() -> None:
        version = lease["metadata"]["resourceVersion"]
        watch = changes(client, LEASES, PRODUCT, resource_version=version)
        async with aclosing(watch) as events:
            async for event in events:
                if event.object["metadata"]["name"] != LEASE_NAME:
                    continue
                found.append(holder_of(event.object))

    following = asyncio.create_task(follow())
    try:
        yield found
    finally:
        following.cancel()
        await asyncio.wait([following])


async def taken_over(seen: list[str]) -> bool:
    return bool({*seen} - {seen[0], ""})


def holder_of(lease: JsonObject) -> str:
    return str(lease["spec"].get("holderIdentity") or "")


async def until_it_has_a_pod(lives: Lives, name: str) -> None:
    """Wait for it, so that the take-over comes in the middle of the life."""

    async def has_a_pod() -> bool:
        return bool(await listed(lives.client, PODS, NAMESPACE, f"{LABEL_APPWRAPPER}={name}"))

    await comes_to(has_a_pod, True)
