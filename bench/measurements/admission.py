"""Sends both webhooks the same reviews over the same connections, in turns."""

import base64

import orjson

from bench import objects
from bench.access_reviews import answered
from bench.arena import Arena
from bench.load.reviews import LoadOutcome, ReviewOrder, send
from bench.machine import CpuSpent, usage
from bench.measurements.rotation import rotated
from bench.peer import MUTATE_PATH, VALIDATE_PATH
from bench.plan import BenchPlan
from bench.results import Contender, ResultRow, ResultSection, SpeedTarget
from bench.statistics import percentile
from localcluster.product import NAMESPACE
from shared.api.objects import JsonObject

_SERVICE = "appwrapper-webhook-service"
_MANY = 16
_WARM_UP = 200
_BOTH = (Contender.PEER, Contender.OURS)
# Above this CPU share the load generator may be the bottleneck.
_BUSY = 0.9


class _Rows:
    """The rows of one kind of review."""

    def __init__(self, name: str) -> None:
        self.p50 = ResultRow(f"{name}, 1 connection, p50", "ms")
        self.p99 = ResultRow(f"{name}, 1 connection, p99", "ms")
        self.rate = ResultRow(f"{name}, {_MANY} connections", "req/s")
        self.many_p50 = ResultRow(f"{name}, {_MANY} connections, p50", "ms")
        self.many_p99 = ResultRow(f"{name}, {_MANY} connections, p99", "ms")
        self.cpu = ResultRow(f"{name}, {_MANY} connections, CPU per review", "ms")

    @property
    def all(self) -> list[ResultRow]:
        return [self.p50, self.p99, self.rate, self.many_p50, self.many_p99, self.cpu]

    async def measure(self, arena: Arena, contender: Contender, order: ReviewOrder) -> LoadOutcome:
        """Sends one order, and adds its figures."""
        with CpuSpent([arena.webhook_process_id(contender)]) as spent:
            outcome = await send(order)
        p50, p99 = (percentile(outcome.latencies, percent) for percent in (50, 99))
        if order.connections == 1:
            self.p50.add(contender, p50)
            self.p99.add(contender, p99)
        else:
            self.rate.add(contender, len(outcome.latencies) / outcome.seconds)
            self.many_p50.add(contender, p50)
            self.many_p99.add(contender, p99)
            self.cpu.add(contender, spent.seconds * 1_000 / (order.warmup + order.requests))
        return outcome


async def mutate(arena: Arena, plan: BenchPlan) -> ResultSection:
    """Measures mutation: default labels and queue, and all that each webhook injects."""
    rows = _Rows("mutate")
    rows.p50.targets = (SpeedTarget(0.85, Contender.PEER),)
    rows.rate.targets = (SpeedTarget(1.3, Contender.PEER, at_least=True),)
    rows.cpu.targets = (SpeedTarget(1, Contender.PEER),)
    section = ResultSection("Mutation, direct requests", rows.all, [_generator_note()])
    shares: dict[Contender, float] = {}
    answers: dict[Contender, JsonObject] = {}
    async with arena.both_webhooks(access_reviews=True):
        for round_number in range(plan.rounds):
            for connections in (1, _MANY):
                for contender in rotated(_BOTH, round_number):
                    order = review_order(arena, contender, "mutate", connections, plan.requests)
                    outcome = await rows.measure(arena, contender, order)
                    shares[contender] = max(shares.get(contender, 0), outcome.client_share)
                    answers[contender] = outcome.answer
    section.notes += [f"{name} answers with {patch_summary(answers[name])}." for name in _BOTH]
    section.notes.append(_share_note(shares))
    return section


async def validate(arena: Arena, plan: BenchPlan) -> ResultSection:
    """Measures validation, with and without access reviews for the user."""
    asking, plain = _Rows("validate with access reviews"), _Rows("validate without")
    asking.many_p99.targets = (SpeedTarget(0.8, Contender.PEER),)
    plain.p50.targets = (SpeedTarget(1, Contender.PEER),)
    section = ResultSection(
        "Validation, direct requests", [*asking.all, *plain.all], [_generator_note()]
    )
    asked: dict[Contender, int] = {}
    sent: dict[Contender, int] = {}
    async with arena.both_webhooks(access_reviews=True):
        for round_number in range(plan.rounds):
            for contender in rotated(_BOTH, round_number):
                before = await answered(arena.cluster)
                for connections in (1, _MANY):
                    order = review_order(arena, contender, "validate", connections, plan.requests)
                    await asking.measure(arena, contender, order)
                    sent[contender] = sent.get(contender, 0) + order.requests + order.warmup
                asked[contender] = asked.get(contender, 0) + await answered(arena.cluster) - before
    counts = (f"{name} {asked[name] / sent[name]:.2f}" for name in _BOTH)
    section.notes.append(
        f"Access reviews per validation, by the API server's own count: {', '.join(counts)}."
    )
    async with arena.both_webhooks(access_reviews=False):
        for round_number in range(plan.rounds):
            for connections in (1, _MANY):
                for contender in rotated(_BOTH, round_number):
                    order = review_order(arena, contender, "validate", connections, plan.requests)
                    await plain.measure(arena, contender, order)
    return section


async def large(arena: Arena, plan: BenchPlan) -> ResultSection:
    """Measures the largest objects that users submit, and the memory of the process at the end."""
    rows = {
        kind: ResultRow(f"{kind} an AppWrapper of 0.9 MiB, p99", "ms", (SpeedTarget(250),))
        for kind in ("mutate", "validate")
    }
    start = ResultRow("start of the webhook's process until it is ready", "s", (SpeedTarget(2),))
    after = "resident memory of the webhook's process after these reviews"
    memory = ResultRow(after, "MiB", (SpeedTarget(120),))
    section = ResultSection(
        "Large objects, start and memory",
        [*rows.values(), start, memory],
        [
            f"A Job whose container has {objects.LARGE_ENVIRONMENT:,} environment variables,"
            f" {plan.reviews} reviews a round over one connection.",
            "The Go operator's process also contains its controller; this operator's does not.",
        ],
    )
    async with arena.both_webhooks(access_reviews=True):
        for round_number in range(plan.rounds):
            start.add(Contender.OURS, await arena.cold_start())
            for contender in rotated(_BOTH, round_number):
                for kind, row in rows.items():
                    body = objects.large_review()
                    order = review_order(arena, contender, kind, 1, plan.reviews, 2, body)
                    row.add(contender, percentile((await send(order)).latencies, 99))
                used = usage([arena.webhook_process_id(contender)])
                memory.add(contender, used.resident_mib)
    return section


def patch_summary(answer: JsonObject) -> str:
    """Formats the patch of an AdmissionReview's answer: `5 patch operations: add /metadata/…`."""
    encoded = answer["response"].get("patch", "")
    operations = orjson.loads(base64.b64decode(encoded)) if encoded else []
    if not operations:
        return "no patch"
    shown = ", ".join(f"{each['op']} {each['path']}" for each in operations[:3])
    more = ", …" if len(operations) > 3 else ""
    plural = "s" if len(operations) > 1 else ""
    return f"{len(operations)} patch operation{plural} ({shown}{more})"


def review_order(
    arena: Arena,
    contender: Contender,
    kind: str,
    connections: int,
    requests: int,
    warm_up: int = _WARM_UP,
    body: bytes = b"",
) -> ReviewOrder:
    body = body or (objects.mutate_review() if kind == "mutate" else objects.validate_review())
    if contender is Contender.PEER:
        webhook = arena.peer.webhook
        path = MUTATE_PATH if kind == "mutate" else VALIDATE_PATH
        port, host, authority = webhook.port, webhook.host, webhook.authority.decode()
    else:
        path = f"/{kind}"
        port = int(arena.cluster.processes["webhook"].spec.address.rpartition(":")[2])
        host, authority = f"{_SERVICE}.{NAMESPACE}.svc", arena.authority()
    return ReviewOrder(
        port=port,
        path=path,
        server_name=host,
        authority=authority,
        connections=connections,
        requests=requests,
        warmup=max(warm_up, connections) if requests >= warm_up else connections,
        body=body.decode(),
    )


def _generator_note() -> str:
    size = len(objects.mutate_review()) / 1_000
    return (
        f"One wrapped PyTorchJob of 1 + 3 pods, {size:.1f} KB, over TLS connections that stay open,"
        " sent by one client process that takes turns between the webhooks."
    )


def _share_note(shares: dict[Contender, float]) -> str:
    texts = ", ".join(f"{100 * share:.0f} % for {name}" for name, share in shares.items())
    note = f"The client's own CPU at its highest, of one core: {texts}."
    if max(shares.values()) > _BUSY:
        note += " Above 90 % the client, not the webhook, may be what was measured."
    return note
