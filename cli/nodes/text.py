"""Format the report about nodes: lines that never wrap. Pure."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from cli.columns import Columns, cut, joined, narrow, total_width
from cli.nodes.report import NodeLine, NodesReport
from cli.terminal import harmless
from shared.api.amounts import amount_text
from shared.waits.words import listed

_UNKNOWN: Final = "-"
_NUMBERS: Final = frozenset({"EACH", "NODES", "BAD", "GPUS", "USED", "FREE", "BLOCK"})
# The columns that are cut in a narrow window, in this order, each to its least width.
_NARROWED: Final = (("INSTANCE", 8), ("RESOURCE", 8))
_MOST_NAMES: Final = 5


def shapes_text(report: NodesReport, width: int | None) -> str:
    """Return a line for each shape, and below the bad nodes with the reasons."""
    columns: Columns = {
        "RESOURCE": [each.resource or _UNKNOWN for each in report.shapes],
        "EACH": [_gpus(each.each, each.resource) for each in report.shapes],
        "INSTANCE": [each.instance or _UNKNOWN for each in report.shapes],
        "NODES": [str(each.nodes) for each in report.shapes],
        "BAD": [str(each.bad) for each in report.shapes],
        "GPUS": [_gpus(each.gpus, each.resource) for each in report.shapes],
        "USED": [_gpus(each.in_use, each.resource) for each in report.shapes],
        "FREE": [_gpus(each.free, each.resource) for each in report.shapes],
        "BLOCK": [_gpus(each.largest_free, each.resource) for each in report.shapes],
    }
    if report.in_queues is not None:
        admitted, good = (
            amount_text(each, "gpu") for each in (report.in_queues, report.schedulable)
        )
        queues = (
            f"\nGPUs of the workloads that Kueue's queues admitted: {admitted}"
            f"\nGPUs of good nodes: {good}\n"
        )
    else:
        queues = ""
    bad = "".join(f"  {line}\n" for line in _bad(report.nodes))
    heading = "\nBad nodes\n" if bad else ""
    return _fitted(columns, width) + _cut_lines(f"{queues}{heading}{bad}", width)


def nodes_text(report: NodesReport) -> str:
    """Return a line for each node, uncut."""
    nodes = report.nodes
    columns: Columns = {
        "NODE": [each.name for each in nodes],
        "RESOURCE": [each.resource or _UNKNOWN for each in nodes],
        "INSTANCE": [each.instance or _UNKNOWN for each in nodes],
        "GPUS": [_gpus(each.gpus, each.resource) for each in nodes],
        "USED": [_gpus(each.in_use, each.resource) for each in nodes],
        "FREE": [_gpus(each.free, each.resource) for each in nodes],
        "TAINTS": [", ".join(each.taints) or _UNKNOWN for each in nodes],
        "WHY": ["; ".join(each.why) for each in nodes],
    }
    return _fitted(columns, None)


def _bad(nodes: Iterable[NodeLine]) -> Iterable[str]:
    """Yield a line for each reason, then its nodes. The reason of most nodes first."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        if node.why:
            found.setdefault("; ".join(node.why), []).append(node.name)
    for why, names in sorted(found.items(), key=lambda each: (-len(each[1]), each[0])):
        yield harmless(f"{why}: {listed(names, _MOST_NAMES)}")


def _fitted(columns: Columns, width: int | None) -> str:
    columns = {heading: [harmless(each) for each in cells] for heading, cells in columns.items()}
    if width is not None:
        for heading, least in _NARROWED:
            narrow(columns, heading, least, total_width(columns) - width)
    return joined(columns, _NUMBERS, width)


def _cut_lines(text: str, width: int | None) -> str:
    if width is None:
        return text
    return "".join(f"{cut(line, width)}\n" for line in text.splitlines())


def _gpus(value: Decimal | None, resource: str) -> str:
    return _UNKNOWN if value is None or not resource else amount_text(value, resource)
