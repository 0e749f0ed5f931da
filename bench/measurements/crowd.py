"""Measures failures while hundreds of others fail at once and hundreds of deletions hang."""

import asyncio
from collections.abc import Sequence
from functools import partial

from bench import objects
from bench.arena import Arena
from bench.load.batch import Batch
from bench.load.faults import fail, fail_pod
from bench.load.requests import delete_all, for_each
from bench.plan import BenchPlan
from bench.results import Contender, ResultRow, ResultSection, SpeedTarget
from bench.statistics import percentile
from localcluster.machine.progress import step
from shared.api.names import LABEL_APPWRAPPER
from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from shared.kube.client import PatchType

_BATCH = "crowd"
_FINALIZER = "bench.localcluster.dev/hangs"
_PAUSE = 0.05  # seconds between two of the others
_PROBE = 0.2
_ANSWER = "Resetting"


class _Crowd:
    """The AppWrappers that fail at once, those that fail in turn, and the deleted ones."""

    def __init__(self, plan: BenchPlan) -> None:
        self.failing = [f"{_BATCH}-failing-{each}" for each in range(plan.failures)]
        self.others = [f"{_BATCH}-other-{each}" for each in range(plan.detections)]
        self.hanging = [f"{_BATCH}-hanging-{each}" for each in range(plan.hanging)]
        self.all = [*self.failing, *self.others, *self.hanging]


async def measure(arena: Arena, plan: BenchPlan) -> ResultSection:
    """Measures our operator alone: the Go operator checks each AppWrapper once a minute."""
    await arena.activate(Contender.OURS)
    async with step(arena.cluster.reporter, "crowd"):
        others, failing = await _lived(arena, _Crowd(plan))
    words = f"while {plan.failures} fail at once and {plan.hanging} deletions hang"
    among = f"one of {plan.failures} that fail at once to {_ANSWER}"
    another = f"another's failed pod to {_ANSWER} {words}"
    measured = (
        (f"{another}, p50", percentile(others, 50), ()),
        (f"{another}, p99", percentile(others, 99), (SpeedTarget(1_000),)),
        (f"{among}, median", percentile(failing, 50), ()),
        (f"{among}, slowest", max(failing), ()),
    )
    return ResultSection(
        "Detection in a crowd",
        [
            ResultRow(measure, "ms", targets, {Contender.OURS: [value]})
            for measure, value, targets in measured
        ],
        [
            f"{plan.failures} AppWrappers of one running pod fail, 16 requests at once."
            f" {plan.hanging} others are being deleted: a foreign finalizer keeps the pod of each."
            f" Meanwhile the pods of {plan.detections} more fail, one after the other. From just"
            f" before the request that reports a pod as failed until a watch shows {_ANSWER}.",
            "The Go operator checks each AppWrapper once a minute, so it was not measured.",
        ],
    )


async def _lived(arena: Arena, crowd: _Crowd) -> tuple[list[float], list[float]]:
    """Returns the milliseconds of those that fail in turn, and of those that fail at once."""
    began: dict[str, float] = {}

    async def break_it(name: str) -> None:
        began[name] = await fail(arena.client, pods[name]["metadata"]["name"])

    async with Batch(arena.client, _BATCH) as progress:
        await progress.start([objects.running(name, _BATCH, pods=1) for name in crowd.all])
        pods = await _pods(arena)
        await for_each([pods[name] for name in crowd.hanging], partial(_keep, arena))
        await delete_all(arena.client, APPWRAPPERS, crowd.hanging)
        await _until_deleting(arena, crowd)
        beside = asyncio.create_task(_in_turn(arena, progress, crowd.others))
        await for_each(crowd.failing, break_it)
        failing = [await progress.reached([name], _ANSWER) - began[name] for name in crowd.failing]
        others = await beside
        await for_each([pods[name] for name in crowd.hanging], partial(_let_go, arena))
        await progress.delete(crowd.all)
    await arena.until_empty()
    return [each * 1_000 for each in others], [each * 1_000 for each in failing]


async def _in_turn(arena: Arena, progress: Batch, names: Sequence[str]) -> list[float]:
    taken = []
    for name in names:
        began = await fail_pod(arena.client, name)
        taken.append(await progress.reached([name], _ANSWER) - began)
        await asyncio.sleep(_PAUSE)
    return taken


async def _pods(arena: Arena) -> dict[str, JsonObject]:
    """Returns the pod of each AppWrapper, by the AppWrapper's name."""
    selector = f"{objects.BATCH_LABEL}={_BATCH}"
    pages = arena.client.pages(PODS, objects.NAMESPACE, label_selector=selector)
    found = [pod async for page in pages for pod in page.items]
    return {pod["metadata"]["labels"][LABEL_APPWRAPPER]: pod for pod in found}


async def _keep(arena: Arena, pod: JsonObject) -> None:
    metadata = pod["metadata"]
    finalizers = [*metadata.get("finalizers", ()), _FINALIZER]
    await _patch_finalizers(arena, metadata["name"], finalizers)


async def _let_go(arena: Arena, pod: JsonObject) -> None:
    await _patch_finalizers(arena, pod["metadata"]["name"], None)


async def _patch_finalizers(arena: Arena, pod: str, finalizers: list[str] | None) -> None:
    patch: JsonObject = {"metadata": {"finalizers": finalizers}}
    await arena.client.patch(PODS, objects.NAMESPACE, pod, patch, PatchType.MERGE)


async def _until_deleting(arena: Arena, crowd: _Crowd) -> None:
    """Waits until each of these pods is being deleted."""
    while True:
        pods = await _pods(arena)
        if all("deletionTimestamp" in pods[name]["metadata"] for name in crowd.hanging):
            return
        await asyncio.sleep(_PROBE)
