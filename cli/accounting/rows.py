"""One row for each ended AppWrapper, and totals of rows. Pure.

The controller's log has the same fields: docs/admins/accounting.md.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from cli.creators import creator_of
from cli.listing.outline import AppWrapperOutline
from cli.listing.why import why
from controller.facts.phase_times import phase_began
from shared.api.amounts import ZERO
from shared.api.appwrapper import AppWrapper
from shared.api.conditions import condition
from shared.api.names import CONDITION_UNHEALTHY
from shared.api.times import parse_time
from shared.waits.gpus import gpu_hours, gpus_in
from shared.waits.quota_time import quota_time


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedAppWrapper:
    """An AppWrapper that succeeded or failed. None: not recorded.

    `ended`: when it succeeded, or when its last failure began. `quota_seconds`: how long it held
    quota, until now if it still holds some. `why`: why it failed, "" if it did not.
    """

    namespace: str
    name: str
    uid: str
    phase: str
    reason: str
    user: str
    queue: str
    created: datetime
    ended: datetime | None
    attempts: int
    retries: int
    gpus: Decimal
    quota_seconds: int | None
    gpu_hours: Decimal | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageTotal:
    """The usage of a user or of a team. `unrecorded`: how many AppWrappers it leaves out."""

    of: str
    appwrappers: int
    succeeded: int
    failed: int
    gpu_hours: Decimal
    unrecorded: int


def ended_row(outline: AppWrapperOutline, gpus: Collection[str], now: datetime) -> EndedAppWrapper:
    """Compose a row. `gpus`: the resources that count as GPUs."""
    appwrapper = outline.appwrapper
    created, phase = parse_time(appwrapper.metadata["creationTimestamp"]), phase_of(appwrapper)
    unhealthy = condition(appwrapper.conditions, CONDITION_UNHEALTHY) or {}
    held, amount = quota_time(appwrapper, now), gpus_in(outline.requests, gpus)
    return EndedAppWrapper(
        namespace=appwrapper.namespace,
        name=appwrapper.name,
        uid=appwrapper.uid,
        phase=phase,
        reason=str(unhealthy.get("reason") or "") if phase == "Failed" else phase,
        user=creator_of(appwrapper),
        queue=appwrapper.queue_name,
        created=created,
        ended=phase_began(appwrapper),
        attempts=appwrapper.attempt,
        retries=appwrapper.retries,
        gpus=amount,
        quota_seconds=None if held is None else int(held.total_seconds()),
        gpu_hours=None if held is None else gpu_hours(amount, held),
        why=why(appwrapper, "", created, now),
    )


def phase_of(appwrapper: AppWrapper) -> str:
    """Return the stored phase: an ended AppWrapper that is being deleted has ended, too."""
    return str(appwrapper.status.get("phase") or "")


_Key = Callable[[EndedAppWrapper], Any]
SORT_KEYS: Final[Mapping[str, _Key]] = {
    "ended": lambda row: 0.0 if row.ended is None else -row.ended.timestamp(),
    "name": lambda row: row.name,
    "user": lambda row: row.user,
    "time": lambda row: -(row.quota_seconds or 0),
    "attempts": lambda row: -row.attempts,
    "gpus": lambda row: -row.gpus,
    "hours": lambda row: -(row.gpu_hours or ZERO),
}


def in_order(rows: Iterable[EndedAppWrapper], key: str) -> list[EndedAppWrapper]:
    """Sort: late ends and large numbers first, texts ascending; equal rows by name."""
    by_name = sorted(rows, key=lambda row: (row.namespace, row.name))
    return sorted(by_name, key=SORT_KEYS[key])


def totals(rows: Iterable[EndedAppWrapper], by: str) -> list[UsageTotal]:
    """Add up `by` user or by team, which is the namespace. The largest usage first."""
    groups: dict[str, list[EndedAppWrapper]] = {}
    for row in rows:
        groups.setdefault(row.user if by == "user" else row.namespace, []).append(row)
    found = [
        UsageTotal(
            of=name,
            appwrappers=len(group),
            succeeded=sum(row.phase == "Succeeded" for row in group),
            failed=sum(row.phase == "Failed" for row in group),
            gpu_hours=sum((row.gpu_hours or ZERO for row in group), ZERO),
            unrecorded=sum(row.gpu_hours is None for row in group),
        )
        for name, group in groups.items()
    ]
    return sorted(found, key=lambda each: (-each.gpu_hours, each.of))
