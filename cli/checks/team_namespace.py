"""Report a team's queues, quota and workloads for `appwrapper check --mine`. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from cli.checks.findings import CheckFinding
from cli.checks.layout import columns
from cli.checks.report import Observed, surroundings
from cli.checks.workload_rules import workload_findings
from cli.checks.workloads import WorkloadFacts
from cli.cluster.kueue import LocalQueue, cluster_queue_of
from shared.api.amounts import ZERO, amount_text, resources_text
from shared.api.objects import JsonObject
from shared.waits.quota import Cohort, cohort_of, flavor_quotas


class WorkloadState(StrEnum):
    PENDING = "pending"
    ADMITTED = "admitted"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaLine:
    """One resource of a ClusterQueue that a LocalQueue of the namespace uses.

    `free`: the unused part of the queue's own quota. `borrowable`: the unused quota that the
    cohort's other queues lend, at most the queue's borrowing limit. Both are upper bounds: a
    workload may need preemption, or a single flavor may have too little.
    """

    cluster_queue: str
    resource: str
    quota: Decimal
    used: Decimal
    free: Decimal
    borrowed: Decimal
    borrowable: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadLine:
    """One workload that has not finished."""

    name: str
    queue: str
    state: WorkloadState
    priority: int | None
    resources: dict[str, Decimal]
    created: str
    reason: str  # Kueue's message while the workload is pending


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceReport:
    namespace: str
    queues: tuple[LocalQueue, ...]
    quotas: tuple[QuotaLine, ...]
    workloads: tuple[WorkloadLine, ...]
    findings: tuple[CheckFinding, ...]
    unread: tuple[str, ...]


def namespace_report(seen: Observed, namespace: str, now: datetime) -> NamespaceReport:
    """Build the report. `seen`: the objects of the namespace, and the ClusterQueues."""
    queues = seen.local_queues or ()
    fed = dict.fromkeys(each.cluster_queue for each in queues)
    by_name = {each["metadata"]["name"]: each for each in seen.cluster_queues or ()}
    unfinished = [each for each in seen.workloads or () if not each.finished]
    # Admitted workloads first, then pending ones in Kueue's order.
    unfinished.sort(key=lambda each: (not each.admitted, -(each.priority or 0), each.created))
    return NamespaceReport(
        namespace=namespace,
        queues=queues,
        quotas=tuple(
            line
            for name in fed
            if name in by_name
            for line in _quotas(by_name[name], by_name.values())
        ),
        workloads=tuple(map(_line, unfinished)),
        findings=tuple(_findings(seen, namespace, now)),
        unread=tuple(map(str, seen.unread)),
    )


def _quotas(item: JsonObject, everybody: Iterable[JsonObject]) -> Iterator[QuotaLine]:
    queue = cluster_queue_of(item)
    members = [each for each in everybody if queue.cohort and cohort_of(each) == queue.cohort]
    borrowable: dict[str, Decimal] = defaultdict(Decimal)
    for each in flavor_quotas(item, Cohort(queue.cohort, tuple(members))):
        own = max(each.nominal - each.used, ZERO)
        # Others may have borrowed a part of it.
        borrowable[each.resource] += max(each.free - own, ZERO)
    for resource in queue.resources:
        total = queue.total(resource)
        yield QuotaLine(
            cluster_queue=queue.name,
            resource=resource,
            quota=total.nominal,
            used=total.used,
            free=max(total.nominal - total.used, ZERO),
            borrowed=total.borrowed,
            borrowable=borrowable[resource],
        )


def _line(workload: WorkloadFacts) -> WorkloadLine:
    return WorkloadLine(
        name=workload.owner or workload.name,
        queue=workload.queue,
        state=WorkloadState.ADMITTED if workload.admitted else WorkloadState.PENDING,
        priority=workload.priority,
        resources={name: value for name, value in workload.amounts.items() if value},
        created=workload.created,
        reason="" if workload.admitted else workload.pending_reason,
    )


def _findings(seen: Observed, namespace: str, now: datetime) -> Iterator[CheckFinding]:
    by_name = {each.name: each for each in seen.queues}
    if seen.local_queues == ():
        yield CheckFinding(
            about=f"namespace {namespace}",
            message="it has no LocalQueue, so Kueue admits nothing here",
            advice="Ask an admin to set up the team (appwrapper team create), or name another"
            " namespace with -n",
        )
    for queue in seen.local_queues or ():
        if queue.inactive:
            yield CheckFinding(
                about=f"LocalQueue {queue.name}", message=f"its workloads wait: {queue.inactive}"
            )
        fed = by_name.get(queue.cluster_queue)
        if fed is not None and fed.inactive:
            yield CheckFinding(
                about=f"ClusterQueue {fed.name}", message=f"it admits nothing: {fed.inactive}"
            )
    if seen.local_queues is None:
        return
    around = surroundings(seen, frozenset(each.name for each in seen.local_queues), now)
    for workload in seen.workloads or ():
        yield from workload_findings(workload, around)


def namespace_text(report: NamespaceReport) -> str:
    parts = [f"Namespace {report.namespace}\n"]
    if report.queues:
        rows = [
            (each.name, each.cluster_queue, str(each.admitted), str(each.pending))
            for each in report.queues
        ]
        parts.append(columns([("LOCAL QUEUE", "CLUSTER QUEUE", "ADMITTED", "PENDING"), *rows], 2))
    if report.quotas:
        parts.append(_quota_table(report.quotas))
    parts.append(_workload_table(report.workloads))
    return "\n".join(parts)


def _quota_table(quotas: Iterable[QuotaLine]) -> str:
    header = ("RESOURCE", "QUOTA", "USED", "FREE", "BORROWED", "MAY BORROW")
    rows = []
    for each in quotas:
        values = (each.quota, each.used, each.free, each.borrowed, each.borrowable)
        rows.append((each.resource, *(amount_text(value, each.resource) for value in values)))
    return columns([header, *rows])


def _workload_table(workloads: Sequence[WorkloadLine]) -> str:
    if not workloads:
        return "No workload waits or runs.\n"
    header = ("WORKLOAD", "STATE", "PRIORITY", "ASKS FOR")
    rows = [
        (
            each.name,
            each.state.value,
            "-" if each.priority is None else str(each.priority),
            resources_text(each.resources),
        )
        for each in workloads
    ]
    return columns([header, *rows], left=4)
