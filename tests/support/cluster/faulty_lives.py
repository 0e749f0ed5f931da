"""Lives that must end as if there were no fault: a success, a reset, a suspension, a deletion."""

import asyncio
from collections import Counter
from contextlib import aclosing
from typing import Self

from localcluster.machine.slowness import stretched
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import KubeClient, TooManyRequests, Unreachable, WatchEventType
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, true_conditions, version_of
from tests.support.builders.jobs import job
from tests.support.cluster.life import Life
from tests.support.cluster.lives import NAMESPACE, Lives
from tests.support.cluster.resources import JOBS
from tests.support.cluster.stages import LONG
from tests.support.life_record import retries
from tests.support.observer.attempts import ATTEMPT_LABEL
from tests.support.patience import LOOK_EVERY_SECONDS, comes_to

RUNS = {"QuotaReserved", "ResourcesDeployed", "PodsReady"}
# Longer than a late write of these tests takes: a late create must not outlive its attempt.
_LATER_SECONDS = stretched(1.0)
_RUN_FOR = f"{stretched(1_500):.0f}ms"


class CreatedJobs:
    """`async with CreatedJobs(client) as made:` counts the creations of Jobs, by their labels."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self.counts: Counter[tuple[str, int]] = Counter()

    async def __aenter__(self) -> Self:
        version = ""
        async with aclosing(self._client.pages(JOBS, NAMESPACE)) as pages:
            async for page in pages:
                version = page.resource_version
        self._task = asyncio.create_task(self._watch(version))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self, version: str) -> None:
        while True:
            stream = self._client.watch(
                JOBS, NAMESPACE, resource_version=version, metadata_only=True
            )
            try:
                async with aclosing(stream):
                    async for event in stream:
                        metadata = event.object["metadata"]
                        version = metadata["resourceVersion"]
                        if event.type is WatchEventType.ADDED:
                            labels = metadata["labels"]
                            self.counts[labels[LABEL_APPWRAPPER], int(labels[ATTEMPT_LABEL])] += 1
            except (Unreachable, TooManyRequests):  # a busy server may end it at any point
                await asyncio.sleep(LOOK_EVERY_SECONDS)

    async def come_to(self, name: str, attempts: int) -> None:
        """Wait until each of these attempts of the AppWrapper has made its Job; assert no more."""
        expected = {(name, attempt): 1 for attempt in range(1, attempts + 1)}

        async def made() -> dict[tuple[str, int], int]:
            return {key: count for key, count in self.counts.items() if key[0] == name}

        await comes_to(made, expected)


# All have LONG periods: an outage takes as long as it takes, with all that follows.


async def succeeds(lives: Lives, made: CreatedJobs, name: str) -> None:
    life = await lives.begin(appwrapper(name, job(name, 1, run_for=_RUN_FOR), annotations=LONG))
    done = await life.until_phase("Succeeded")
    assert (done["status"]["attempt"], retries(done)) == (1, 0), life.story()
    await _ended(life, made, name, 1)


async def is_reset(lives: Lives, made: CreatedJobs, name: str) -> None:
    body = job(name, 1, run_for=_RUN_FOR, fail_attempts="1")
    life = await lives.begin(appwrapper(name, body, annotations=AT_ONCE | LONG))
    done = await life.until_phase("Succeeded")
    assert (done["status"]["attempt"], retries(done)) == (2, 1), life.story()
    await _ended(life, made, name, 2)


async def is_suspended(lives: Lives, made: CreatedJobs, name: str) -> None:
    """Suspend it while it runs, resume it, and delete it while it runs again."""
    life = await lives.begin(appwrapper(name, job(name, 1, hang="running"), annotations=LONG))
    running = await until_it_runs(life)
    await asyncio.sleep(_LATER_SECONDS)  # a late create must not outlive its attempt
    await lives.set_active(life, False)
    suspended = await life.until_phase("Suspended", after=version_of(running))
    await lives.set_active(life, True)
    again = await until_it_runs(life, after=version_of(suspended))
    assert (again["status"]["attempt"], retries(again)) == (2, 0), life.story()
    await asyncio.sleep(_LATER_SECONDS)
    await lives.delete(APPWRAPPERS, name)
    await life.until_deleted()
    await _ended(life, made, name, 2)


async def _ended(life: Life, made: CreatedJobs, name: str, attempts: int) -> None:
    await made.come_to(name, attempts)
    await life.check_the_promise_to_kueue()


async def until_it_runs(life: Life, *, after: int = 0) -> JsonObject:
    """Return the first state above the resourceVersion `after` in which all of its pods run."""
    return await life.until(
        lambda item: version_of(item) > after and true_conditions(item) == RUNS,
        "all of its pods running",
    )


async def lived(lives: Lives, made: CreatedJobs, name: str) -> None:
    """Live one life of each kind, side by side."""
    async with asyncio.TaskGroup() as group:
        for kind in (succeeds, is_reset, is_suspended):
            suffix = kind.__name__.rpartition("_")[2]
            group.create_task(kind(lives, made, f"{name}-{suffix}"))
