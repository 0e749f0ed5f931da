"""When the slack queue's lending limits are written. Pure: the time is an argument, in seconds.

A limit falls at once and rises only to what was free for all of the last 30 seconds, so that a
node that comes and goes costs one write. Two writes are at least 10 seconds apart.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from controller.facts.slack_quota import FlavorResource, SlackQuota, StoredQueue, within
from shared.api.objects import JsonObject
from shared.api.quantities import parse_quantity
from shared.waits.words import amount_text

STABLE_SECONDS: Final = 30.0
WRITE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class LimitChange:
    """A lending limit that is to be written. `limit` None: it is to be unset."""

    row: SlackQuota
    limit: Decimal | None

    @property
    def lends(self) -> Decimal:
        """Return what the queue lends at most after the write."""
        return self.row.quota.nominal if self.limit is None else self.limit


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written `wait` seconds from now; 0: now. No changes: nothing.

    `excess` is by how much promises exceed what is schedulable, where they do. `due` is when the
    plan may change though nothing happens, in seconds from now; None: never.
    """

    changes: tuple[LimitChange, ...]
    wait: float
    excess: Mapping[FlavorResource, Decimal]
    due: float | None


class SlackPace:
    """The memory of one slack queue. A process that begins has seen nothing stable yet."""

    def __init__(self) -> None:
        self._steady: dict[FlavorResource, _Least] = {}
        self._lent: dict[FlavorResource, Decimal] = {}
        self._next_write: float | None = None

    def plan(self, rows: Iterable[SlackQuota], now: float, *, certain: bool = True) -> Plan:
        """Take in what the queue, the nodes and the other queues are like now.

        Not `certain`: there may be less than the rows say, so no limit rises.
        """
        seen = {row.key: row for row in rows}
        self._steady = {key: self._steady.get(key) or _Least() for key in seen}
        for key, row in seen.items():
            # What was lent when this process began, and what an admin wrote: no rise at once.
            if not certain or self._lent.get(key) != row.quota.lends:
                self._steady[key].add(row.quota.lends, now)
            self._steady[key].add(row.headroom, now)
        self._lent = {key: row.quota.lends for key, row in seen.items()}
        steady = {key: least.of_late(now) for key, least in self._steady.items()}
        wanted = (LimitChange(row, _limit(row, steady[key])) for key, row in seen.items())
        dues = [due for each in self._steady.values() if (due := each.due) is not None]
        return Plan(
            changes=tuple(each for each in wanted if each.limit != each.row.quota.lending_limit),
            wait=0.0 if self._next_write is None else max(self._next_write - now, 0.0),
            excess={key: -amount for key, amount in steady.items() if amount < 0},
            due=max(min(dues) - now, 0.0) if dues else None,
        )

    def sent(self, now: float) -> None:
        """A write was sent, and its answer may never come."""
        self._next_write = now + WRITE_SECONDS

    def wrote(self, changes: Iterable[LimitChange]) -> None:
        """The API server has stored it: what the queue lends now is no edit of an admin."""
        self._lent |= {change.row.key: change.lends for change in changes}


def _limit(row: SlackQuota, headroom: Decimal) -> Decimal | None:
    """Unset exactly where all of the nominal quota may be lent."""
    limit = within(headroom, row.quota.nominal)
    return None if limit == row.quota.nominal else limit


class _Least:
    """The least value of the last STABLE_SECONDS, of a value that changes in steps."""

    def __init__(self) -> None:
        # (moment, value), both growing: from that moment on it was never less than the value.
        self._steps: list[tuple[float, Decimal]] = []

    def add(self, value: Decimal, now: float) -> None:
        """The value from now on."""
        since = now
        while self._steps and self._steps[-1][1] >= value:
            since, _ = self._steps.pop()
        self._steps.append((since, value))

    def of_late(self, now: float) -> Decimal:
        """Return the least value. Forget what was before."""
        while len(self._steps) > 1 and self._steps[1][0] <= now - STABLE_SECONDS:
            del self._steps[0]
        return self._steps[0][1]

    @property
    def due(self) -> float | None:
        """Return when it rises by time alone."""
        return self._steps[1][0] + STABLE_SECONDS if len(self._steps) > 1 else None


def patch(queue: StoredQueue, changes: Iterable[LimitChange]) -> list[JsonObject]:
    """Return the JSON patch that writes these limits and nothing else.

    It applies only to the resourceGroups that the limits were computed from: an admin's edit in
    between is never undone.
    """
    tests = {"/metadata/uid": queue.uid, "/spec/resourceGroups": queue.groups}
    return [
        *({"op": "test", "path": path, "value": value} for path, value in tests.items()),
        *(_operation(each) for each in changes),
    ]


def _operation(change: LimitChange) -> JsonObject:
    path = f"{change.row.quota.path}/lendingLimit"
    if change.limit is None:
        return {"op": "remove", "path": path}
    _, resource = change.row.key
    return {"op": "add", "path": path, "value": limit_text(change.limit, resource)}


def limit_text(amount: Decimal, resource: str) -> str:
    """Return exactly this amount, as ClusterQueues have it: bytes as `16Gi` where that is so."""
    short = amount_text(amount, resource)
    return short if parse_quantity(short) == amount else f"{amount.normalize():f}"
