"""Formats AppWrappers as `kubectl get appwrappers` shows them. Pure."""

from collections.abc import Iterable
from datetime import datetime

from rich.table import Table

from shared.api.objects import JsonObject

HEADINGS = ("NAME", "STATUS", "QUOTA RESERVED", "RESOURCES DEPLOYED", "UNHEALTHY", "AGE")
_COLOURS = {
    "Running": "cyan",
    "Resuming": "cyan",
    "Succeeded": "green",
    "Failed": "red",
    "Suspended": "yellow",
}

TableRow = tuple[str, str, str, str, str, str]


def row_of(appwrapper: JsonObject, now: datetime) -> TableRow:
    """Returns the cells of one AppWrapper, in the order of HEADINGS. `now` is timezone-aware."""
    metadata, status = appwrapper["metadata"], appwrapper.get("status", {})
    conditions = {each["type"]: each["status"] for each in status.get("conditions", ())}
    created = datetime.fromisoformat(metadata["creationTimestamp"])
    return (
        metadata["name"],
        status.get("phase", ""),
        conditions.get("QuotaReserved", ""),
        conditions.get("ResourcesDeployed", ""),
        conditions.get("Unhealthy", ""),
        age_text((now - created).total_seconds()),
    )


def age_text(seconds: float) -> str:
    """Formats an age as kubectl does: seconds up to two minutes, then minutes and seconds."""
    whole = max(0, int(seconds))
    return f"{whole}s" if whole < 120 else f"{whole // 60}m{whole % 60}s"


def table_of(rows: Iterable[TableRow]) -> Table:
    """Returns the rows as a table for a terminal, with a coloured status."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for heading in HEADINGS:
        table.add_column(heading, no_wrap=True)
    for row in rows:
        colour = _COLOURS.get(row[1], "default")
        table.add_row(row[0], f"[{colour}]{row[1]}[/]", *row[2:])
    return table


def line_of(row: TableRow) -> str:
    """Returns the row as a line of a log, in columns of a fixed width."""
    return f"{row[0]:<20} {row[1]:<11} {row[2]:<16} {row[3]:<20} {row[4]:<11} {row[5]}"
