"""Describes our own requests and watch events, as `tracing` recorded them. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import orjson

from bench.profile.tables import ProfileTable, ranked
from shared.api.objects import JsonObject

_EVENT: Final = "WATCH"


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


def timeline(found: Sequence[JsonObject], title: str, began: datetime) -> ProfileTable:
    """Returns every request and event of one life, in their order."""
    rows = [
        (
            label,
            (
                (each["at"] - began.timestamp()) * 1_000,
                each.get("seconds", 0.0) * 1_000,
                each.get("sent", 0),
                each["received"],
            ),
        )
        for label, each in labelled(found)
    ]
    columns = ("after ms", "took ms", "bytes sent", "bytes received")
    return ProfileTable(title, "request or watch event", columns, rows)


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
    requests = sum(count for label, count in number.items() if _EVENT not in label) / lives
    events = sum(count for label, count in number.items() if _EVENT in label) / lives
    received = sum(values[1] for values in sums.values()) / lives
    return ProfileTable(
        title,
        "request or watch event",
        ("per life", "bytes sent", "bytes received", "ms waited"),
        ranked(columns),
        (
            f"Per life {requests:.2f} requests, {events:.2f} watch events,"
            f" {received / 1_000:.1f} KB received.",
            "After a request stand the function that sends it, and the phase of its pass.",
        ),
        drawn=1,
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
        target = f"{each['verb']} {_resource(each['path'])}{written}{code}"
        yield f"{program} {target}: {each['function']}{phase}", each


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


def _resource(path: str) -> str:
    """Returns `appwrappers/status` for such a path: the resource and its subresource."""
    parts = path.strip("/").split("/")
    # /api/v1/… or /apis/GROUP/VERSION/…
    rest = parts[2:] if parts[0] == "api" else parts[3:]
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    return "/".join(filter(None, (rest[0], *rest[2:]))) if rest else path
