"""Measures reviews while hostile clients send the largest bodies, and bodies without an end."""

from bench import objects
from bench.arena import Arena
from bench.load.hostile import SENT, UNFINISHED, hostile_clients
from bench.load.reviews import send
from bench.machine import usage
from bench.measurements.admission import review_order
from bench.plan import BenchPlan
from bench.results import Contender, ResultRow, ResultSection, SpeedTarget
from bench.statistics import percentile

_PARALLEL = 20
_OTHERS = 4  # connections
_WARM_UP = 20


async def measure(arena: Arena, plan: BenchPlan) -> ResultSection:
    """Measures both webhooks, each in a fresh process."""
    p50, p99 = (
        ResultRow(f"validate beside hostile clients, {_OTHERS} connections, {which}", "ms", targets)
        for which, targets in (("p50", ()), ("p99", (SpeedTarget(1_000),)))
    )
    peak = ResultRow("peak memory of the webhook's process meanwhile", "MiB", (SpeedTarget(400),))
    body = objects.largest_review()
    async with arena.both_webhooks(access_reviews=True):
        await arena.cold_start()
        for contender in (Contender.PEER, Contender.OURS):
            largest = review_order(arena, contender, "validate", _PARALLEL, 1, 1, body)
            others = review_order(arena, contender, "validate", _OTHERS, plan.requests, _WARM_UP)
            async with hostile_clients(largest):
                latencies = (await send(others)).latencies
            p50.add(contender, percentile(latencies, 50))
            p99.add(contender, percentile(latencies, 99))
            peak.add(contender, usage([arena.webhook_process_id(contender)]).peak_mib)
    return ResultSection(
        "Hostile clients",
        [p50, p99, peak],
        [
            f"{_PARALLEL} connections send a review of {len(body) / (1 << 20):.1f} MiB, nearly all"
            f" that a webhook reads, again and again. {UNFINISHED} others announce as much, send"
            f" {SENT // 1024} KiB and stop. Each connects again when the webhook ends its"
            " connection. The others' reviews are those of the section on validation, with access"
            " reviews.",
            "The Go operator's process also contains its controller; this operator's does not.",
        ],
    )
