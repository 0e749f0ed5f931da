"""Describes our own requests and watch events, as `tracing` recorded them. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final

import orjson

from bench.profile.tables import ProfileTable, ranked
from shared.api.objects import JsonObject

_EVENT: Final = "WATCH"
_SUBJECT: Final = "request or watch event"


def records(lines: Iterable[bytes], began: datetime, ended: datetime) -> list[JsonObject]:
    """Returns the records of this time, in their order; those of leases are left out."""
    found = [orjson.loads(line) for line in lines]
    kept = [
        each
        for each in found
        if began.timestamp() <= each["at"] <= ended.timestamp()
        and "/leases" not in each["path"]
        and each.get("type") != "BOOKMARK"
    ]
    return sorted(kept, key=lambda each: float(each["at"]))


def timeline(
    found: Sequence[JsonObject], title: str, began: datetime, *, listed: bool = True
) -> ProfileTable:
    """Returns every request of one life in their order, and the events between two requests."""
    rows: list[tuple[str, tuple[float, ...]]] = []
    for is_event, group in groupby(labelled(found), lambda each: each[1]["verb"] == _EVENT):
        among = [
            (
                label,
                (
                    (each["at"] - began.timestamp()) * 1_000,
                    each.get("seconds", 0.0) * 1_000,
                    each.get("sent", 0),
                    each["received"],
                ),
            )
            for label, each in group
        ]
        rows += [_together(among)] if is_event else among
    columns = ("after ms", "took ms", "bytes sent", "bytes received")
    return ProfileTable(title, _SUBJECT, columns, rows, listed=len(rows) * listed)


def _together(events: Sequence[tuple[str, tuple[float, ...]]]) -> tuple[str, tuple[float, ...]]:
    """Returns one row for successive events, with the time of the first."""
    number = Counter(label.partition(f" {_EVENT} ")[2] for label, _ in events)
    label, (at, *_) = events[0]
    program = label.partition(" ")[0]
    kinds = ", ".join(kind + (f" x{n}" if n > 1 else "") for kind, n in number.items())
    return f"{program} {_EVENT} {kinds}", (at, 0.0, 0, sum(values[3] for _, values in events))


def per_life(found: Sequence[JsonObject], title: str, lives: int) -> ProfileTable:
    """Returns requests and events by cause, per life."""
    number: Counter[str] = Counter()
    sums: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for label, each in labelled(found):
        number[label] += 1
        measured = (each.get("sent", 0), each["received"], each.get("seconds", 0.0) * 1_000)
        sums[label] = [sum(pair) for pair in zip(sums[label], measured, strict=True)]
    total = {label: count / lives for label, count in number.items()}
    columns = [total] + [
        {label: values[index] / lives for label, values in sums.items()} for index in range(3)
    ]
    events = sum(each["verb"] == _EVENT for each in found) / lives
    requests = len(found) / lives - events
    received = sum(values[1] for values in sums.values()) / lives
    return ProfileTable(
        title,
        _SUBJECT,
        ("number", "bytes sent", "bytes received", "ms waited"),
        ranked(columns),
        (
            f"Together {requests:.1f} requests, {events:.1f} watch events,"
            f" {received / 1_000:.0f} KB received. Bytes are of bodies, without headers.",
            "A request names the function that sends it, and the phase of the AppWrapper in that"
            " reconcile pass.",
        ),
        drawn=1,
        listed=18,
    )


def labelled(found: Iterable[JsonObject]) -> Iterable[tuple[str, JsonObject]]:
    """Yields each record with its cause; a status write is named by its change."""
    before: dict[str, JsonObject] = {}
    for each in found:
        program = each["program"]
        if each["verb"] == _EVENT:
            yield f"{program} {_EVENT} {each['path']} {each['type']}", each
            continue
        phase = f" in {each['phase']}" if each["phase"] else ""
        detail = each["detail"]
        written = f" ({detail['reason']})" if "reason" in detail else ""
        if "conditions" in detail:
            written = f" ({_change(before.get(each['path']), detail)})"
            before[each["path"]] = detail
        code = f" answered {each['code']}" if each["code"] >= 300 or not each["code"] else ""
        resource, name = _target(each["path"])
        verb = "LIST" if each["verb"] == "GET" and not name else each["verb"]
        yield f"{program} {verb} {resource}{written}{code}: {each['function']}{phase}", each


def _change(before: JsonObject | None, after: JsonObject) -> str:
    """Returns the new phase and the conditions that a status write changes."""
    known = before or {"phase": "", "conditions": {}}
    words = [f"to {after['phase']}"] if after["phase"] != known["phase"] else []
    changed = [
        kind
        for kind, value in after["conditions"].items()
        if known["conditions"].get(kind) != value
    ]
    return "; ".join([*words, *([", ".join(changed)] if changed else [])]) or "nothing visible"


def _target(path: str) -> tuple[str, str]:
    """Returns `appwrappers/status` for such a path, and the object's name if it has one."""
    parts = path.strip("/").split("/")
    # /api/v1/… or /apis/GROUP/VERSION/…
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    return ("/".join((rest[0], *rest[2:])), "".join(rest[1:2])) if rest else (path, "")
