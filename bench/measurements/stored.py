"""Measures a controller that starts, idles and works beside thousands of AppWrappers."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import yaml

from bench.arena import CONTROLLERS, Arena
from bench.load.batch import FAILED, Batch
from bench.load.copies import BATCH, PODS, Copies, copies, name_of, node_of
from bench.load.faults import label
from bench.load.probes import probed
from bench.load.requests import for_each
from bench.load.slow_network import SlowNetwork
from bench.machine import CpuSpent, usage
from bench.metrics import OperatorsRequests, api_server_metrics, operators_requests
from bench.plan import BenchPlan
from bench.results import Contender, ResultRow, ResultSection, SpeedTarget
from bench.statistics import percentile
from localcluster.machine.processes import ProcessSpec
from localcluster.machine.progress import step

_LOST = 10  # AppWrappers whose Job a client deleted while no controller ran
_LABELLED = 1_000  # nodes
_HARMLESS = "PASS"
_RESYNC_SECONDS = 660  # this controller reads each AppWrapper again once in 9 to 11 minutes
_PEER_PERIOD = 60  # seconds; the Go operator does so once a minute
_DELAY = 0.1  # seconds
_SETTLING_SECONDS = 5.0
_LONGEST = 60.0  # seconds that AppWrappers are followed behind a slow network
_REQUESTS_OF_A_PASS = 3


class _Rows:
    """The rows of all sizes, and those that only the largest size has."""

    def __init__(self, sizes: Sequence[int]) -> None:
        def of_sizes(words: str, unit: str, *targets: SpeedTarget) -> dict[int, ResultRow]:
            return {
                size: ResultRow(
                    f"{words}, {size:,} AppWrappers", unit, targets if size == max(sizes) else ()
                )
                for size in sizes
            }

        most = f"{max(sizes):,} AppWrappers"
        self.ready = of_sizes("start until ready", "s")
        self.noticed = of_sizes("start until a component deleted before it is reported", "s")
        self.memory = of_sizes("resident memory of the controller", "MiB", SpeedTarget(350))
        self.peak = of_sizes("its peak since the start", "MiB")
        self.idle_cpu = ResultRow(f"CPU while idle, {most}", "% of a core")
        self.idle_requests = ResultRow(
            f"requests a minute while idle, {most}", "requests", (SpeedTarget(30),)
        )
        self.probe = ResultRow(
            f"probe of /healthz while nodes are labelled, p99, {most}", "ms", (SpeedTarget(100),)
        )
        self.passes = {
            delay: ResultRow(f"passes of {_REQUESTS_OF_A_PASS} requests, {words}", "1/s", targets)
            for delay, words, targets in (
                (0.0, "answers not delayed", ()),
                (_DELAY, "each answer 100 ms late", (SpeedTarget(200, at_least=True),)),
            )
        }

    @property
    def all(self) -> list[ResultRow]:
        of_sizes = (self.ready, self.noticed, self.memory, self.peak)
        return [
            *(row for rows in of_sizes for row in rows.values()),
            self.idle_cpu, self.idle_requests, self.probe,
            *self.passes.values(),
        ]  # fmt: skip


async def measure(arena: Arena, plan: BenchPlan) -> ResultSection:
    """Measures both operators, one after the other; this operator is at work afterwards."""
    rows, sizes = _Rows(plan.sizes), sorted(plan.sizes)
    lost = max(2, sizes[0])
    labelled = min(_LABELLED, plan.nodes)
    sent: dict[Contender, float] = {}
    for contender in CONTROLLERS:
        async with (
            step(arena.cluster.reporter, f"stored: {contender}"),
            copies(arena, contender, plan.nodes) as stored,
        ):
            spec = _alone(arena, contender)
            begin = 2  # both originals count
            for size in sizes:
                async with step(arena.cluster.reporter, f"store {size:,} AppWrappers"):
                    await stored.store(stored.unused(max(0, size - begin)))
                begin = max(begin, size)
                await _start(arena, stored, spec, contender, rows, size)
                if size == max(sizes):
                    await _idle(arena, spec, contender, rows, plan.idle_seconds)
                    await _label_nodes(arena, spec, contender, rows, labelled)
                used = usage([arena.cluster.processes[spec.name].pid])
                rows.memory[size].add(contender, used.resident_mib)
                rows.peak[size].add(contender, used.peak_mib)
                await arena.cluster.processes.stop(spec.name)
            await stored.clear()
            for delay in rows.passes:
                sent[contender] = await _slowed(arena, stored, spec, contender, rows, lost, delay)
    await arena.activate(Contender.OURS)
    return ResultSection("Many AppWrappers", rows.all, _notes(plan, sizes, lost, labelled, sent))


async def _start(
    arena: Arena, stored: Copies, spec: ProcessSpec, contender: Contender, rows: _Rows, size: int
) -> None:
    lost = stored.unused(_LOST, step=2)
    await stored.store(lost, whole=False)
    async with Batch(arena.client, BATCH) as progress:
        began = time.perf_counter()
        await arena.cluster.processes.start(spec)
        rows.ready[size].add(contender, time.perf_counter() - began)
        noticed = await progress.reached([*map(name_of, lost)], FAILED)
        rows.noticed[size].add(contender, noticed - began)
        await progress.settle()


async def _idle(
    arena: Arena, spec: ProcessSpec, contender: Contender, rows: _Rows, seconds: int
) -> None:
    if contender is Contender.PEER:
        seconds = min(seconds, _PEER_PERIOD)
    await asyncio.sleep(_SETTLING_SECONDS)
    before = await _requests(arena)
    with CpuSpent([arena.cluster.processes[spec.name].pid]) as spent:
        await asyncio.sleep(seconds)
    requests = (await _requests(arena)).all - before.all
    rows.idle_cpu.add(contender, 100 * spent.seconds / seconds)
    rows.idle_requests.add(contender, requests * 60 / seconds)


async def _requests(arena: Arena) -> OperatorsRequests:
    return operators_requests(await api_server_metrics(arena.cluster))


async def _label_nodes(
    arena: Arena, spec: ProcessSpec, contender: Contender, rows: _Rows, count: int
) -> None:
    """Sets and removes a harmless label of Autopilot on so many nodes, 16 at once."""
    async with probed(spec.address) as latencies:
        for value in (_HARMLESS, None):
            await for_each(map(node_of, range(count)), partial(label, arena.client, value=value))
    rows.probe.add(contender, percentile(latencies, 99))


async def _slowed(
    arena: Arena,
    stored: Copies,
    spec: ProcessSpec,
    contender: Contender,
    rows: _Rows,
    size: int,
    delay: float,
) -> float:
    """Starts the controller beside so many AppWrappers whose Job is gone: each must fail.

    Returns the number of requests for each AppWrapper that failed.
    """
    numbers = stored.unused(size, step=2)
    await stored.store(numbers, whole=False)
    async with (
        SlowNetwork(arena.cluster.access.server, delay) as network,
        Batch(arena.client, BATCH) as progress,
    ):
        before = await _requests(arena)
        await arena.cluster.processes.start(_behind(spec, network.url))
        with suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST):
                await progress.reached([*map(name_of, numbers)], FAILED)
        failed = progress.moments(FAILED)
        after = await _requests(arena)
        await arena.cluster.processes.stop(spec.name)
    await stored.clear()
    requests = after.all - before.all - (after.events - before.events)
    rows.passes[delay].add(contender, requests / _REQUESTS_OF_A_PASS / (failed[-1] - failed[0]))
    return requests / len(failed)


def _alone(arena: Arena, contender: Contender) -> ProcessSpec:
    """Returns the controller without a lease: a stopped process would delay the next start."""
    spec = arena.cluster.processes[CONTROLLERS[contender]].spec
    if contender is Contender.PEER:
        return spec
    file = arena.cluster.directory / "product" / "controller.yaml"
    settings = yaml.safe_load(file.read_text())
    settings["controllerManager"]["leaderElection"] = False
    other = file.with_name("controller-alone.yaml")
    other.write_text(yaml.safe_dump(settings))
    command = tuple(str(other) if each == str(file) else each for each in spec.command)
    return replace(spec, command=command)


def _behind(spec: ProcessSpec, url: str) -> ProcessSpec:
    """Returns the same program with another address of the API server."""
    kubeconfig = Path(spec.environment["KUBECONFIG"])
    content = yaml.safe_load(kubeconfig.read_text())
    content["clusters"][0]["cluster"]["server"] = url
    other = kubeconfig.with_suffix(".behind.yaml")
    other.write_text(yaml.safe_dump(content))
    return replace(spec, environment={**spec.environment, "KUBECONFIG": str(other)})


def _notes(
    plan: BenchPlan,
    sizes: Sequence[int],
    lost: int,
    labelled: int,
    sent: dict[Contender, float],
) -> list[str]:
    pods = ", ".join(f"{PODS * size:,}" for size in sizes)
    each = ", ".join(f"{count:.1f} for {name}" for name, count in sent.items())
    return [
        f"Each AppWrapper wraps a Job of {PODS} pods ({pods} pods together) on {plan.nodes:,} nodes"
        " of 50 images and 60 labels. Half of the AppWrappers run; half have succeeded, and their"
        " pods still exist. Two of them lived in this cluster under the same operator; the others"
        " are their copies, stored in etcd byte for byte with other names and UIDs. Only etcd, the"
        " API server and the operator run; the bench's own requests do not count.",
        "Memory: of the controller's process, at the end (the Go operator's process contains its"
        " webhook). Lost components: the Jobs of"
        f" {_LOST} more AppWrappers, whose names come last; from the start of the process"
        " until a watch shows that the last of them failed.",
        f"Idle: for {plan.idle_seconds} s. This operator reads each AppWrapper again once in 9 to"
        " 11 minutes, the Go operator once a minute, so it is watched for at most"
        f" {_PEER_PERIOD} s. Requests: counted by the API server. No process holds a lease.",
        f"Labels: Autopilot's label is set to {_HARMLESS} on {labelled:,} nodes and removed again,"
        " 16 requests at once. Every 10 ms another process asks for /healthz, which the event loop"
        " of this operator's controller answers; a late answer delays those that are due then.",
        f"Passes: {lost:,} AppWrappers whose Job is gone; requests a second until the last"
        f" failed, for at most {_LONGEST:.0f} s, divided by {_REQUESTS_OF_A_PASS}. All that the API"
        " server sends arrives 100 ms late. Requests for each AppWrapper, with the lists of the"
        f" start and without Events: {each}.",
    ]
