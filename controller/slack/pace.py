"""Decide when the slack queue's lending limits are written. Pure: times are seconds.

A limit falls at once. It rises only to the amount that was free for the last 30 seconds, so a
node that flaps causes one write. Two writes are at least 10 seconds apart.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from controller.slack.quota import SlackQuota, StoredQueue
from shared.api.amounts import amount_text
from shared.api.objects import JsonObject
from shared.api.quantities import parse_quantity
from shared.waits.quota import FlavorResource

STABLE_SECONDS: Final = 30.0
WRITE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class LimitChange:
    """A lending limit to write. `limit` None: remove the field."""

    row: SlackQuota
    limit: Decimal | None

    @property
    def lends(self) -> Decimal:
        """The most that the queue lends after the write."""
        return self.row.quota.nominal if self.limit is None else self.limit


@dataclass(frozen=True, slots=True)
class LimitPlan:
    """The changes to write, `wait` seconds from now.

    `excess`: positive amounts by which promised quota exceeds the schedulable capacity.
    `due`: the seconds until the plan may change without any event; None: never.
    """

    changes: tuple[LimitChange, ...]
    wait: float
    excess: Mapping[FlavorResource, Decimal]
    due: float | None


class SlackPace:
    """Remembers the amounts of one slack queue. A new process has seen no stable amount yet."""

    def __init__(self) -> None:
        self._steady: dict[FlavorResource, _Least] = {}
        self._lent: dict[FlavorResource, Decimal] = {}
        self._next_write: float | None = None

    def plan(self, rows: Iterable[SlackQuota], now: float, *, certain: bool = True) -> LimitPlan:
        """Return the plan for the current state of the queues and nodes.

        Not `certain`: the true amounts may be smaller than the rows, so no limit rises.
        """
        seen = {row.key: row for row in rows}
        self._steady = {key: self._steady.get(key) or _Least() for key in seen}
        for key, row in seen.items():
            # The limit at the start of the process or after an admin's write must not rise at once.
            if not certain or self._lent.get(key) != row.quota.lends:
                self._steady[key].add(row.quota.lends, now)
            self._steady[key].add(row.headroom, now)
        self._lent = {key: row.quota.lends for key, row in seen.items()}
        steady = {key: least.of_late(now) for key, least in self._steady.items()}
        wanted = (LimitChange(row, _limit(row, steady[key])) for key, row in seen.items())
        dues = [due for each in self._steady.values() if (due := each.due) is not None]
        return LimitPlan(
            changes=tuple(each for each in wanted if each.limit != each.row.quota.lending_limit),
            wait=0.0 if self._next_write is None else max(self._next_write - now, 0.0),
            excess={key: -amount for key, amount in steady.items() if amount < 0},
            due=max(min(dues) - now, 0.0) if dues else None,
        )

    def sent(self, now: float) -> None:
        """Record that a write was sent; its answer may be lost."""
        self._next_write = now + WRITE_SECONDS

    def wrote(self, changes: Iterable[LimitChange]) -> None:
        """Record that the API server stored the changes, so they are no edit of an admin."""
        self._lent |= {change.row.key: change.lends for change in changes}


def _limit(row: SlackQuota, headroom: Decimal) -> Decimal | None:
    """Return the limit; None if the whole nominal quota may be lent."""
    limit = row.quota.lendable(headroom)
    return None if limit == row.quota.nominal else limit


class _Least:
    """The least value of the last STABLE_SECONDS, of a value that changes in steps."""

    def __init__(self) -> None:
        # (time, value), both increasing: since that time the value was never smaller.
        self._steps: list[tuple[float, Decimal]] = []

    def add(self, value: Decimal, now: float) -> None:
        """Record the value from now on."""
        since = now
        while self._steps and self._steps[-1][1] >= value:
            since, _ = self._steps.pop()
        self._steps.append((since, value))

    def of_late(self, now: float) -> Decimal:
        """Return the least value and drop older steps."""
        while len(self._steps) > 1 and self._steps[1][0] <= now - STABLE_SECONDS:
            del self._steps[0]
        return self._steps[0][1]

    @property
    def due(self) -> float | None:
        """The time at which the least value rises without a new value; None: never."""
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
    """Return exactly this amount in the usual form, such as `16Gi` for bytes."""
    short = amount_text(amount, resource)
    return short if parse_quantity(short) == amount else f"{amount.normalize():f}"
