"""Format ended AppWrappers and totals: tables whose lines never wrap, and CSV. Pure."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, timedelta
from decimal import Decimal
from typing import Final

from cli.accounting.rows import EndedAppWrapper, UsageTotal
from cli.columns import Columns, joined, narrow, total_width
from cli.durations import compact
from cli.terminal import harmless
from shared.api.amounts import amount_text
from shared.api.objects import JsonValue

_UNKNOWN: Final = "-"
_NUMBERS: Final = frozenset({"TIME", "TRIES", "GPUS", "GPU-HOURS", "ENDED", "SUCCEEDED", "FAILED"})
# The columns that are cut in a narrow window, in this order, each to its least width.
_NARROWED: Final = (("USER", 8), ("NAMESPACE", 10), ("TEAM", 10), ("NAME", 10))
# The columns that a narrow window leaves out, in this order.
_LEAST_USEFUL: Final = ("TRIES", "TIME", "ENDED (UTC)", "STATUS", "GPUS", "NAMESPACE", "USER")
_LEAST_USEFUL_TOTALS: Final = ("SUCCEEDED", "FAILED", "ENDED")


def table(
    rows: Sequence[EndedAppWrapper],
    *,
    namespaces: bool = False,
    wide: bool = False,
    width: int | None = None,
) -> str:
    """Return the lines. `width`: of the terminal, None for a program: then nothing is cut."""
    columns: Columns = {}
    if namespaces or wide:
        columns["NAMESPACE"] = [row.namespace for row in rows]
    columns["NAME"] = [row.name for row in rows]
    columns["USER"] = [row.user or _UNKNOWN for row in rows]
    columns["STATUS"] = [row.phase for row in rows]
    columns["ENDED (UTC)"] = [_ended(row, wide=wide) for row in rows]
    columns["TIME"] = [_time(row.quota_seconds) for row in rows]
    columns["TRIES"] = [str(row.attempts) for row in rows]
    columns["GPUS"] = [amount_text(row.gpus, "gpu") for row in rows]
    columns["GPU-HOURS"] = [_hours(row.gpu_hours) for row in rows]
    if wide:
        columns["QUEUE"] = [row.queue or _UNKNOWN for row in rows]
        columns["WHY"] = [row.why for row in rows]
    return _fitted(columns, None if wide else width, _LEAST_USEFUL)


def totals_table(totals: Sequence[UsageTotal], by: str, width: int | None = None) -> str:
    """Return a line for each user or team, and one for all if there are several."""
    lines = [*totals, _sum(totals)] if len(totals) > 1 else totals
    columns: Columns = {
        by.upper(): [each.of or _UNKNOWN for each in lines],
        "ENDED": [str(each.appwrappers) for each in lines],
        "SUCCEEDED": [str(each.succeeded) for each in lines],
        "FAILED": [str(each.failed) for each in lines],
        "GPU-HOURS": [_hours(_known(each)) for each in lines],
    }
    return _fitted(columns, width, _LEAST_USEFUL_TOTALS)


def as_csv(rows: Iterable[Mapping[str, JsonValue]], fields: Sequence[str]) -> str:
    """Return a line of headings and a line for each row; a cell without a value is empty."""
    written = io.StringIO()
    writer = csv.DictWriter(written, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {key: harmless(value) if isinstance(value, str) else value for key, value in row.items()}
        for row in rows
    )
    return written.getvalue()


def _sum(totals: Sequence[UsageTotal]) -> UsageTotal:
    return UsageTotal(
        of="all",
        appwrappers=sum(each.appwrappers for each in totals),
        succeeded=sum(each.succeeded for each in totals),
        failed=sum(each.failed for each in totals),
        gpu_hours=sum((each.gpu_hours for each in totals), Decimal(0)),
        unrecorded=sum(each.unrecorded for each in totals),
    )


def _known(total: UsageTotal) -> Decimal | None:
    """Return the GPU-hours, None if none are recorded."""
    return None if total.unrecorded == total.appwrappers else total.gpu_hours


def _fitted(columns: Columns, width: int | None, least_useful: Iterable[str]) -> str:
    """Return the lines. A narrow window leaves out columns, but never cuts the last number."""
    for heading, cells in columns.items():
        columns[heading] = [harmless(each).replace("\n", " ").replace("\t", " ") for each in cells]
    if width is None:
        return joined(columns, _NUMBERS)
    fitted = _narrowed(columns, width)
    for heading in least_useful:
        if total_width(fitted) <= width:
            break
        columns.pop(heading, None)
        fitted = _narrowed(columns, width)
    narrow(fitted, next(iter(fitted)), 1, total_width(fitted) - width)
    return joined(fitted, _NUMBERS, width)


def _narrowed(columns: Columns, width: int) -> Columns:
    found = dict(columns)
    for heading, least in _NARROWED:
        narrow(found, heading, least, total_width(found) - width)
    return found


def _ended(row: EndedAppWrapper, *, wide: bool) -> str:
    if row.ended is None:
        return _UNKNOWN
    return row.ended.astimezone(UTC).strftime("%Y-%m-%d %H:%M" if wide else "%m-%d %H:%M")


def _time(seconds: int | None) -> str:
    return _UNKNOWN if seconds is None else compact(timedelta(seconds=seconds))


def _hours(value: Decimal | None) -> str:
    return _UNKNOWN if value is None else f"{value:.2f}"
