"""Profiles one life, and a burst of lives, of one contender after the other."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bench import objects
from bench.arena import OUR_PROCESSES, Arena
from bench.load.batch import Batch
from bench.load.reviews import send
from bench.measurements import admission
from bench.plan import BenchPlan
from bench.profile import audit, stacks, trace
from bench.profile.sampling import python_samples
from bench.profile.stacks import StackSample
from bench.profile.tables import ALL, FUNCTION, REST, ProfileTable, ranked
from bench.profile.window import Window, window
from bench.results import Contender
from localcluster.machine.processes import ProcessSpec
from localcluster.machine.progress import step
from shared.api.objects import APPWRAPPERS
from shared.kinds.job import JOBS

_API_SERVER = "kube-apiserver"
_CONTENDERS = (Contender.OURS, Contender.PEER, Contender.PLATFORM)
_CONNECTIONS = 16
_OPERATION = "operation"


@dataclass(frozen=True, slots=True)
class _Burst:
    """The two windows of one burst: creation to Succeeded, and deletion to gone."""

    life: Window
    deletion: Window


async def profile(arena: Arena, plan: BenchPlan) -> list[ProfileTable]:
    """Returns all tables; our operator is at work afterwards."""
    lives, cluster, reporter = max(plan.sizes), arena.cluster, arena.cluster.reporter
    folder = cluster.directory
    originals = {name: cluster.processes[name].spec for name in OUR_PROCESSES}
    async with (
        step(reporter, "check that py-spy may read our programs"),
        python_samples(cluster.processes["controller"].pid, folder / "probe.raw"),
    ):
        pass
    async with step(reporter, "restart the API server with its audit log and profiler"):
        await _observe(arena, originals)
    singles, bursts = {}, {}
    for contender in _CONTENDERS:
        async with step(reporter, f"{lives} lives and their deletion: {contender}"):
            await arena.activate(contender)
            await _lives(arena, contender, "warm", 1)
            singles[contender] = await _lives(arena, contender, "one", 1)
            bursts[contender] = await _lives(arena, contender, "burst", lives)
    await arena.activate(Contender.OURS)
    for spec in originals.values():
        await _run_as(arena, spec)
    async with step(reporter, f"{lives} lives under a sampling profiler"):
        sampled = await _sampled_lives(arena, lives)
    async with step(reporter, "reviews under a sampling profiler"):
        sampled |= await _sampled_reviews(arena, plan.requests)
    traced = (folder / "requests.jsonl").read_bytes().splitlines()
    audited = (folder / "audit.log").read_bytes().splitlines()
    return [
        *_requests(traced, singles[Contender.OURS], bursts[Contender.OURS], lives),
        *_of_all_programs(
            audited, {name: each.life for name, each in bursts.items()}, "life", lives
        ),
        *_of_all_programs(
            audited, {name: each.deletion for name, each in bursts.items()}, "deletion", lives
        ),
        *python_tables(sampled),
    ]


async def _observe(arena: Arena, originals: Mapping[str, ProcessSpec]) -> None:
    folder = arena.cluster.directory
    policy = folder / "audit-policy.json"
    policy.write_text(json.dumps(audit.POLICY))
    spec = arena.cluster.processes[_API_SERVER].spec
    flags = (
        f"--audit-policy-file={policy}",
        f"--audit-log-path={folder / 'audit.log'}",
        "--profiling=true",
    )
    await _run_as(arena, replace(spec, command=(*spec.command, *flags)))
    for spec in originals.values():
        python, module, *arguments = spec.command
        file = str(folder / "requests.jsonl")
        command = (python, module, "bench.profile.tracing", file, *arguments)
        await _run_as(arena, replace(spec, command=command))


async def _run_as(arena: Arena, spec: ProcessSpec) -> None:
    """Runs a process of the cluster with another command."""
    await arena.cluster.processes.stop(spec.name)
    await arena.cluster.processes.start(spec)


async def _lives(arena: Arena, contender: Contender, name: str, lives: int) -> _Burst:
    create = objects.job if contender is Contender.PLATFORM else objects.wrapped_job
    resource = JOBS if contender is Contender.PLATFORM else APPWRAPPERS
    batch = f"{name}-{contender.name.lower()}"
    documents = [create(f"{batch}-{each}", batch, objects.QUEUE) for each in range(lives)]
    async with Batch(arena.client, batch, resource) as running:
        async with window(arena.cluster) as life:
            await running.run(documents)
        async with window(arena.cluster) as deletion:
            await running.delete([each["metadata"]["name"] for each in documents])
            await arena.until_empty()
    return _Burst(life, deletion)


async def _sampled_lives(arena: Arena, lives: int) -> dict[str, list[StackSample]]:
    await _lives(arena, Contender.OURS, "warm-again", 1)
    folder, processes = arena.cluster.directory, arena.cluster.processes
    async with python_samples(processes["controller"].pid, folder / "controller.raw") as found:
        await _lives(arena, Contender.OURS, "sampled", lives)
    return {"controller": found}


async def _sampled_reviews(arena: Arena, requests: int) -> dict[str, list[StackSample]]:
    found = {}
    for access_reviews, paths in ((True, ("mutate", "validate")), (False, ("validate",))):
        async with arena.both_webhooks(access_reviews=access_reviews):
            for path in paths:
                without = "" if access_reviews else " without access reviews"
                name = f"webhook: {path}{without}"
                order = admission.review_order(arena, Contender.OURS, path, _CONNECTIONS, requests)
                file = arena.cluster.directory / "reviews.raw"
                process = arena.webhook_process_id(Contender.OURS)
                async with python_samples(process, file) as found[name]:
                    await send(order)
    return found


def _requests(
    traced: Sequence[bytes], single: _Burst, burst: _Burst, lives: int
) -> list[ProfileTable]:
    """Returns our own requests and events, of one life and of a burst."""
    tables = []
    for name in ("life", "deletion"):
        one, many = getattr(single, name), getattr(burst, name)
        found = trace.records(traced, one.began, one.ended)
        listed = name == "life"
        tables.append(trace.timeline(found, f"One {name}, in order", one.began, listed=listed))
        found = trace.records(traced, many.began, many.ended)
        title = f"This operator's requests and watch events per {name}, {lives} at once"
        tables.append(trace.per_life(found, title, lives))
    return tables


def _of_all_programs(
    audited: Sequence[bytes], windows: Mapping[Contender, Window], name: str, lives: int
) -> list[ProfileTable]:
    """Returns what all programs do, per life, for each contender."""
    columns = [contender.value for contender in windows]

    def table(
        title: str,
        subject: str,
        counted: Sequence[Mapping[str, float]],
        *notes: str,
        drawn: int = 0,
        listed: int = 10,
    ) -> ProfileTable:
        per_life = [{key: value / lives for key, value in each.items()} for each in counted]
        rows = ranked(per_life, comparable=True)
        if subject != _OPERATION:
            rows.append((ALL, [sum(each.values()) for each in per_life]))
        return ProfileTable(f"{title}, per {name}", subject, columns, rows, notes, drawn, listed)

    each = windows.values()
    return [
        table("CPU in ms", "program", [w.cpu for w in each], drawn=3),
        table(
            "CPU of the API server in ms by kind of request", "kind",
            [_api_server_cpu(w) for w in each],
            "The API server's own sampling profiler (100 samples a second of CPU) gives the shares;"
            " /proc gives the whole. Nothing is apportioned by counts.",
            drawn=3,
        ),
        table(
            "Requests of all programs", "sender: verb resource",
            [audit.requests(audited, w.began, w.ended) for w in each],
            "From the API server's audit log, without watches and leases.", drawn=3,
        ),
        table(
            "Watch events that the API server sent", "resource", [w.events for w in each],
            listed=0,
        ),
        table(
            "etcd by operation", _OPERATION, [w.etcd for w in each],
            "From the metrics of etcd. Ranges within transactions count.", listed=0,
        ),
        table(
            "etcd writes by resource", "operation and resource", [w.writes for w in each],
            "From the metrics of the API server: attempts, those that meet a conflict too.",
            drawn=3, listed=8 if name == "life" else 0,
        ),
    ]  # fmt: skip


def _api_server_cpu(measured: Window) -> dict[str, float]:
    """Divides the measured CPU of the API server by the shares of the samples, in ms."""
    found = stacks.by_any(measured.api_server, stacks.API_REQUESTS)
    return _portions(found, measured.cpu[_API_SERVER])


def _portions(found: Mapping[str, float], whole: float) -> dict[str, float]:
    total = sum(found.values()) or 1.0
    return {name: weight / total * whole for name, weight in found.items()}


def python_tables(sampled: Mapping[str, Sequence[StackSample]]) -> list[ProfileTable]:
    """Returns the shares of parts and of functions, in percent."""
    number = {name: sum(each.weight for each in samples) for name, samples in sampled.items()}
    parts = [
        _portions(stacks.by_innermost(samples, stacks.OUR_PARTS), 100)
        for samples in sampled.values()
    ]
    counted = ", ".join(f"{name} {count:.0f}" for name, count in number.items())
    note = f"Samples of py-spy, C functions included: {counted}. 1 % of 1,000 samples is 1 ± 0.3 %."
    tables = [
        ProfileTable(
            "CPU of this operator in %",
            "part",
            [*sampled],
            ranked(parts, comparable=True),
            (note,),
            drawn=3,
            listed=14,
        )
    ]
    for name, samples in sampled.items():
        alone = _portions(stacks.by_function(samples), 100)
        found = stacks.within_functions(samples)
        within = {each: 100 * weight / number[name] for each, weight in found.items()}
        rows = ranked([alone, within], smallest=0.01, most=25)
        tables.append(
            ProfileTable(
                f"{name}, by function, in % of CPU",
                FUNCTION,
                ("with its libraries", "with all it calls"),
                [row for row in rows if row[0] != REST],
                listed=6,
            )
        )
    return tables
