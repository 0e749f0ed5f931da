"""Print the table and totals exactly as MLBatch's cluster-checker does. Pure."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final

from cli.checks.report import ClusterReport, Totals
from shared.api.amounts import amount_text, resource_text

_SEPARATOR: Final = "   "
_UNKNOWN: Final = "?"
_HEADER: Final = (
    "CLUSTER QUEUE", "GPU QUOTA", "GPU USAGE", "ADMITTED WORKLOADS", "PENDING WORKLOADS",
)  # fmt: skip


def table(report: ClusterReport) -> str:
    """Format the ClusterQueues without the slack queue, then the totals."""
    gpu = report.gpus.resource
    rows = [
        (
            each.name,
            amount_text(each.gpu_quota, gpu),
            amount_text(each.gpu_usage, gpu),
            str(each.admitted_workloads),
            str(each.pending_workloads),
        )
        for each in report.queues
    ]
    return columns([_HEADER, *rows]) + "\n" + totals(report.gpus)


def columns(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Align columns: the first `left` columns to the left, the others to the right."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            text.ljust(width) if place < left else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(_SEPARATOR.join(cells).rstrip())
    return "\n".join(lines) + "\n"


def totals(of: Totals) -> str:
    """Format the three sums, with a question mark for amounts that could not be read."""
    lines = (
        ("Total GPU count in cluster:", " ", of.total),
        ("Unschedulable GPU count:", "-", of.unschedulable),
        ("Schedulable GPU count:", "=", of.schedulable),
        None,
        ("Nominal GPU quota:", " ", of.nominal_quota),
        ("Slack GPU quota:", "+", of.slack_quota),
        ("Total GPU quota:", "=", of.total_quota),
        None,
        ("GPU usage by admitted workloads:", " ", of.usage),
        ("Borrowed GPU count:", " ", of.borrowed),
    )
    width = max(len(line[0]) for line in lines if line)
    digits = max(len(_number(of.resource, line[2])) for line in lines if line)
    return "".join(
        f"{line[0]:{width}} {line[1]} {_number(of.resource, line[2]):>{digits}}\n" if line else "\n"
        for line in lines
    )


def _number(resource: str, value: Decimal | None) -> str:
    return _UNKNOWN if value is None else amount_text(value, resource)


def wide(report: ClusterReport) -> str:
    """Format all resources: the amounts of the nodes, and of each queue by flavor."""
    header = (
        "RESOURCE", "TOTAL", "UNSCHEDULABLE", "SCHEDULABLE", "NOMINAL QUOTA", "SLACK QUOTA", "USED",
        "BORROWED",
    )  # fmt: skip
    amounts = []
    for each in report.resources:
        of_nodes = (each.total, each.unschedulable, each.schedulable)
        of_queues = (each.nominal_quota, each.slack_quota, each.usage, each.borrowed)
        numbers = [_number(each.resource, value) for value in (*of_nodes, *of_queues)]
        amounts.append((each.resource, *numbers))
    parts = [columns([header, *amounts]), _flavors(report)]
    if report.node_shapes:
        parts.append(_shapes(report))
    return "\n".join(parts)


def _flavors(report: ClusterReport) -> str:
    header = (
        "CLUSTER QUEUE", "COHORT", "FLAVOR", "RESOURCE", "NOMINAL", "BORROWING LIMIT",
        "LENDING LIMIT", "USED", "BORROWED",
    )  # fmt: skip
    rows = []
    for each in report.flavors:
        quota = each.quota
        limits = (quota.borrowing_limit, quota.lending_limit)
        rows.append(
            (
                each.cluster_queue,
                each.cohort or "-",
                quota.flavor,
                quota.resource,
                amount_text(quota.nominal, quota.resource),
                *("-" if limit is None else amount_text(limit, quota.resource) for limit in limits),
                amount_text(quota.used, quota.resource),
                amount_text(quota.borrowed, quota.resource),
            )
        )
    return columns([header, *rows], left=4)


def _shapes(report: ClusterReport) -> str:
    rows = [
        (
            str(each.nodes),
            ", ".join(resource_text(value, name) for name, value in each.allocatable),
        )
        for each in report.node_shapes
    ]
    return columns([("NODES", "EACH OFFERS"), *rows], left=2)
