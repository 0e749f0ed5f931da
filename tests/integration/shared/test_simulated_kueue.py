"""The simulated Kueue takes the steps of the real one, in the same order."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest

from shared.api.objects import APPWRAPPERS, PODS, JsonObject, Resource, controller_of
from shared.kube.client import KubeClient, WatchEvent, WatchEventType
from shared.waits.workload import WORKLOADS
from tests.simulation import kueue_lives, workloads
from tests.simulation.kueue_lives import Change, Steps, difference, steps_of
from tests.simulation.scenarios import Act
from tests.support.builders.appwrappers import appwrapper, true_conditions, version_of
from tests.support.builders.jobs import job
from tests.support.cluster.changes import changes
from tests.support.cluster.life import Life, listed
from tests.support.cluster.lives import NAMESPACE, Lives, requesting
from tests.support.life_record import QUOTA, READY
from tests.support.patience import comes_to

pytestmark = pytest.mark.kueue

_CPU = "1500m"  # of the team's 2: one at a time


class Recorded:
    """The changes of the namespace's AppWrappers and Workloads, in etcd's order."""

    def __init__(self) -> None:
        self.events: list[tuple[Resource, WatchEvent]] = []

    async def follow(self, client: KubeClient, resource: Resource, version: str) -> None:
        stream = changes(client, resource, NAMESPACE, resource_version=version)
        async with aclosing(stream):
            async for event in stream:
                self.events.append((resource, event))

    async def has_come_to_the_end(self, client: KubeClient, name: str) -> bool:
        """True once the newest state of this AppWrapper is among the events.

        Its watch may be later than that of the Workloads.
        """
        stored = await client.get(APPWRAPPERS, NAMESPACE, name)
        return stored["metadata"]["resourceVersion"] in [
            event.object["metadata"]["resourceVersion"] for _, event in self.events
        ]

    def steps(self) -> Steps:
        known: dict[str, JsonObject] = {}
        changes = []
        for resource, event in sorted(self.events, key=_revision):
            item, uid = event.object, event.object["metadata"]["uid"]
            new = None if event.type is WatchEventType.DELETED else item
            changes.append(Change(resource, known.get(uid), new))
            known[uid] = item
        return steps_of(changes)


def _revision(recorded: tuple[Resource, WatchEvent]) -> int:
    return int(recorded[1].object["metadata"]["resourceVersion"])


async def old_ones(client: KubeClient) -> set[str]:
    """Return which of these tests' names still have a Workload."""
    owners = [controller_of(each) for each in await listed(client, WORKLOADS, NAMESPACE)]
    return {each.name for each in owners if each is not None} & {"a", "urgent"}


@asynccontextmanager
async def recording(client: KubeClient) -> AsyncIterator[Recorded]:
    # Kueue may be slow to let go of the Workloads of the test before.
    await comes_to(lambda: old_ones(client), set())
    recorded = Recorded()
    async with asyncio.TaskGroup() as group:
        tasks = []
        for resource in (APPWRAPPERS, WORKLOADS):
            version = ""
            async with aclosing(client.pages(resource, NAMESPACE)) as pages:
                async for page in pages:
                    version = page.resource_version
            tasks.append(group.create_task(recorded.follow(client, resource, version)))
        yield recorded
        for each in tasks:
            each.cancel()


def until_finished(steps: Steps, name: str) -> list[str]:
    """Return the handshake until the AppWrapper's Workload finished."""
    ends = f"Workload {name}: Finished=True Succeeded"
    return steps.handshake[: steps.handshake.index(ends) + 1]


async def finishes(lives: Lives, recorded: Recorded, name: str) -> None:
    ends = f"Workload {name}: Finished=True Succeeded"
    await comes_to(lambda: _async(ends in recorded.steps().handshake), True)
    await comes_to(lambda: recorded.has_come_to_the_end(lives.client, name), True)


async def _async(value: bool) -> bool:
    return value


def big(name: str, priority: str = "", **simulation: str) -> JsonObject:
    return appwrapper(name, requesting(_CPU, job(name, 1, **simulation), priority))


async def ends_its_second_run(lives: Lives, life: Life) -> None:
    """Its pods hang, so that it runs when it is evicted, however late that is."""
    await life.until(
        lambda item: ready(item) and item["status"]["attempt"] == 2, "all pods ready again"
    )
    [name] = await lives.names(PODS, life)
    await lives.patch_pod(name, {"phase": "Succeeded"})


def ready(item: JsonObject) -> bool:
    return READY in true_conditions(item)


def stopped(item: JsonObject) -> bool:
    return item["spec"].get("suspend") is True and QUOTA not in true_conditions(item)


async def test_a_successful_life(lives: Lives) -> None:
    async with recording(lives.client) as recorded:
        await lives.begin(big("a", run_for="1s"))
        await finishes(lives, recorded, "a")
    body = workloads.wrapped("a", workloads.job("a", 1))
    simulated = await asyncio.to_thread(kueue_lives.simulated, (1.0, body))
    compare(simulated, recorded)


async def test_a_deactivated_life(lives: Lives) -> None:
    async with recording(lives.client) as recorded:
        life = await lives.begin(big("a", hang="running"))
        held = await life.until(ready, "pods ready")
        await lives.set_active(life, False)
        await life.until(
            lambda item: version_of(item) > version_of(held) and stopped(item), "stopped"
        )
        await comes_to(lambda: _async("Requeued=False" in "".join(_messages(recorded))), True)
        await lives.set_active(life, True)
        await ends_its_second_run(lives, life)
        await finishes(lives, recorded, "a")
    acts = (Act(10.0, "deactivate", "a", {"seconds": 20.0}),)
    body = workloads.wrapped("a", workloads.job("a", 1, run_for="15s"))
    simulated = await asyncio.to_thread(kueue_lives.simulated, (1.0, body), acts=acts)
    compare(simulated, recorded)


async def test_a_preempted_life(lives: Lives) -> None:
    async with recording(lives.client) as recorded:
        life = await lives.begin(big("a", "low-priority", hang="running"))
        await life.until(ready, "pods ready")
        await lives.begin(big("urgent", "high-priority", run_for="1s"))
        await ends_its_second_run(lives, life)
        await finishes(lives, recorded, "a")
    simulated = await asyncio.to_thread(
        kueue_lives.simulated,
        (1.0, kueue_lives.prioritized("a", "low-priority", "15s")),
        (10.0, kueue_lives.prioritized("urgent", "high-priority", "1s")),
    )
    compare(simulated, recorded)


def _messages(recorded: Recorded) -> list[str]:
    return recorded.steps().handshake


def compare(simulated: Steps, recorded: Recorded) -> None:
    real = until_finished(recorded.steps(), "a")
    assert not (found := difference(until_finished(simulated, "a"), real)), found
