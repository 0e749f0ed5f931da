"""Measures the last of many failures to its root cause, and the delay of other failures."""

import asyncio
from pathlib import Path
from urllib.parse import urlparse

import yaml

from bench import objects
from bench.arena import Arena
from bench.load.batch import EXPLAINED, Batch
from bench.load.failures import (
    fail_all,
    fail_one,
    leave_files,
    records_of,
    same_requests,
)
from bench.load.faults import fail_pod, pods_of
from bench.results import Contender, ResultRow, ResultSection, SpeedTarget
from bench.statistics import percentile
from shared.api import names
from shared.api.objects import APPWRAPPERS, JsonObject
from shared.kube.client import PatchType
from shared.process.clock import SystemClock

# Other AppWrappers that fail meanwhile, one after the other.
OTHERS = 40
_PAUSE = 0.05
_STORE = "local"  # of the local cluster
_GRACE = f"{names.ANNOTATION_PREFIX}failureGracePeriodDuration"


class Records:
    """Fails all `workers` of one AppWrapper, in the first round only.

    The Go operator finds no root cause. The other AppWrappers' time to Resetting is measured for
    both operators.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        last = f"last of {workers:,} failures to"
        self._found = ResultRow(f"{last} status.rootCause", "s", (SpeedTarget(1),))
        self._stored = ResultRow(
            f"{last} status.rootCause, with as many files in a store", "s", (SpeedTarget(1),)
        )
        self._reset = ResultRow(f"{last} Resetting", "s")
        self._others = ResultRow(
            "another's failed pod to Resetting meanwhile, p99",
            "ms",
            (SpeedTarget(2, Contender.PLATFORM),),
        )
        self.section = ResultSection(
            "Root cause of many failures",
            [self._found, self._stored, self._reset, self._others],
            [
                f"A Job of {workers:,} pods, each of which leaves a recorder's message of about"
                " 900 bytes (and, in the second row, a file in a folder). From just before the"
                " request that reports the last of them until a watch shows the result; the grace"
                " period ends with that request.",
                f"Meanwhile: {OTHERS} AppWrappers of one Job each, one pod of each fails in turn,"
                " while the failures are reported and the root cause is found. Platform: the API"
                " server's own time meanwhile for the same three requests (a pod's patch, a"
                " consistent list of the pods, a patch), without any watch.",
                "The Go operator has no root cause; it checks each AppWrapper once a minute.",
            ],
        )

    async def run(self, arena: Arena, contender: Contender, round_number: int) -> None:
        """Runs one round of one contender, which is already at work."""
        if round_number > 0:
            return
        if contender is Contender.OURS:
            self._found.add(contender, await self._measure(arena, contender, "", "records"))
            self._stored.add(contender, await self._measure(arena, contender, _STORE, "stored"))
        elif contender is Contender.PEER:
            await self._measure(arena, contender, "", "records-peer")

    async def _measure(self, arena: Arena, contender: Contender, store: str, name: str) -> float:
        """Returns seconds until the status has a root cause; of the Go operator until Resetting."""
        document = broken_later(name, self._workers, store)
        async with Batch(arena.client, name) as progress:
            others = [_replacing_nothing(f"{name}-{number}", name, 1) for number in range(OTHERS)]
            await progress.start([document, *others])
            pods = await pods_of(arena.client, name)
            records = records_of(pods, round(SystemClock().now().timestamp() * 1e9))
            if store:
                uid = pods[0]["metadata"]["labels"][names.LABEL_UID]
                leave_files(store_of(arena).joinpath(objects.NAMESPACE, name, uid, "1"), records)
            beside = asyncio.create_task(self._beside(arena, progress, contender, name))
            await fail_all(arena.client, pods[1:], records[1:])
            began = await fail_one(arena.client, pods[0], records[0])
            await _end_grace(arena, name)
            reset = await progress.reached([name], "Resetting") - began
            self._reset.add(contender, reset)
            found = reset
            if contender is Contender.OURS:
                found = await progress.reached([name], EXPLAINED) - began
            await beside
            await progress.delete([name, *(each["metadata"]["name"] for each in others)])
        await arena.until_empty()
        return found

    async def _beside(self, arena: Arena, progress: Batch, contender: Contender, name: str) -> None:
        """Breaks the others; the Go operator's all at once, or it would take an hour."""
        taken, bare = [], []

        async def answered(number: int) -> None:
            began = await fail_pod(arena.client, f"{name}-{number}")
            taken.append(await progress.reached([f"{name}-{number}"], "Resetting") - began)

        if contender is Contender.PEER:
            await asyncio.gather(*map(answered, range(OTHERS)))
        else:
            for number in range(OTHERS):
                bare.append(await same_requests(arena.client, f"{name}-{number}"))
                await answered(number)
                await asyncio.sleep(_PAUSE)
            self._others.add(Contender.PLATFORM, percentile(bare, 99) * 1_000)
        self._others.add(contender, percentile(taken, 99) * 1_000)


def broken_later(name: str, workers: int, store: str) -> JsonObject:
    """Returns an AppWrapper of a Job that replaces no pod; its reset is delayed by 1 h."""
    document = _replacing_nothing(name, name, workers)
    document["metadata"]["annotations"][_GRACE] = "1h"
    if store:
        document["metadata"]["annotations"][f"{names.ANNOTATION_PREFIX}errorStore"] = store
    return document


def _replacing_nothing(name: str, batch: str, pods: int) -> JsonObject:
    """Returns an AppWrapper of a Job that replaces no pod: on a slow machine its failure stays."""
    document = objects.running(name, batch, pods=pods)
    document["spec"]["components"][0]["template"]["spec"] |= {
        "completionMode": "Indexed",
        "backoffLimitPerIndex": 0,
    }
    return document


async def _end_grace(arena: Arena, name: str) -> None:
    patch = {"metadata": {"annotations": {_GRACE: "0s"}}}
    await arena.client.patch(APPWRAPPERS, objects.NAMESPACE, name, patch, PatchType.MERGE)


def store_of(arena: Arena) -> Path:
    """Returns the folder of the local cluster's error store."""
    settings = yaml.safe_load((arena.cluster.directory / "product" / "controller.yaml").read_text())
    stores = settings["appwrapper"]["faultTolerance"]["errorAggregation"]["stores"]
    return Path(urlparse(stores[_STORE]).path)
