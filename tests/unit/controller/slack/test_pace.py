"""When lending limits are written, and that they are right once all is quiet."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.facts.nodes import Node
from controller.slack.pace import SlackPace, limit_text, patch
from controller.slack.quota import SlackQuota, stored_queue
from tests.support.builders.autopilot import GPU
from tests.support.builders.slack import (
    FLAVOR,
    SLACK,
    flavor,
    labelled_node,
    raw_queue,
    row,
    rows_of,
)

KEY = (FLAVOR, GPU)


class Queue:
    """A slack queue of 8 whose limit is what was last written, and the seconds that passed."""

    def __init__(self, limit: int | None = None, nominal: int = 8) -> None:
        self.limit = limit
        self.nominal = nominal
        self.pace = SlackPace()
        self.now = 100.0
        self.writes: list[tuple[float, int | None]] = []

    def at(self, now: float, headroom: int) -> None:
        """The nodes are like this from now on; the keeper looks, and again when it is due."""
        while True:
            self.now = now
            plan = self.pace.plan([self._row(headroom)], now)
            if not plan.changes or plan.wait > 0:
                return
            [change] = plan.changes
            self.limit = None if change.limit is None else int(change.limit)
            self.writes.append((now, self.limit))
            self.pace.sent(now)
            self.pace.wrote(plan.changes)

    def _row(self, headroom: int) -> SlackQuota:
        return row(headroom, nominal=self.nominal, limit=self.limit)

    def due(self, headroom: int) -> float | None:
        return self.pace.plan([self._row(headroom)], self.now).due


def test_a_limit_falls_at_once() -> None:
    queue = Queue()
    queue.at(100, 8)
    assert queue.writes == []
    queue.at(101, 3)
    assert queue.writes == [(101, 3)]


def test_it_rises_when_the_rise_has_lasted_for_30_seconds() -> None:
    queue = Queue(limit=0)
    queue.at(100, 0)
    queue.at(200, 8)
    assert queue.due(8) == 30
    queue.at(229.9, 8)
    assert queue.writes == []
    queue.at(230, 8)
    assert queue.writes == [(230, None)]
    assert queue.due(8) is None


def test_it_rises_to_the_least_of_these_30_seconds() -> None:
    queue = Queue(limit=0)
    queue.at(100, 0)
    for moment, headroom in ((200, 2), (210, 5), (220, 4), (229, 8)):
        queue.at(moment, headroom)
    queue.at(230, 8)
    assert queue.writes == [(230, 2)]
    queue.at(240, 8)  # 4 since 210, though it was 5 for a while
    queue.at(259, 8)
    assert queue.writes == [(230, 2), (240, 4), (259, None)]


def test_a_node_that_flaps_every_5_seconds_costs_one_write_and_one_when_it_ends() -> None:
    queue = Queue()
    queue.at(100, 8)
    for beat in range(200):
        queue.at(105 + 5 * beat, 8 * (beat % 2))
    assert queue.writes == [(105, 0)]
    queue.at(105 + 5 * 199 + 29.9, 8)
    assert len(queue.writes) == 1
    queue.at(105 + 5 * 199 + 30, 8)
    assert queue.writes[1:] == [(105 + 5 * 199 + 30, None)]


def test_two_writes_are_10_seconds_apart() -> None:
    queue = Queue()
    queue.at(100, 7)
    queue.at(101, 6)
    assert queue.pace.plan([row(6, limit=7)], 101).wait == 9
    queue.at(109.9, 5)
    assert queue.writes == [(100, 7)]
    queue.at(110, 5)
    assert queue.writes == [(100, 7), (110, 5)]


def test_a_process_that_begins_lowers_at_once_and_raises_nothing_for_30_seconds() -> None:
    lower = Queue(limit=5)
    lower.at(100, 2)
    assert lower.writes == [(100, 2)]
    raised = Queue(limit=2)
    raised.at(100, 8)
    raised.at(129.9, 8)
    assert raised.writes == []
    raised.at(130, 8)
    assert raised.writes == [(130, None)]


def test_processes_that_never_live_for_30_seconds_raise_nothing() -> None:
    queue = Queue(limit=2)
    for start in range(100, 1000, 29):
        queue.pace = SlackPace()
        queue.at(start, 8)
        queue.at(start + 28, 8)
    assert queue.writes == []


@pytest.mark.parametrize(("written", "lends"), [(8, None), (7, 7), (0, 0)])
def test_unset_is_written_exactly_where_all_of_it_may_be_lent(
    written: int, lends: int | None
) -> None:
    queue = Queue(limit=written)
    queue.at(100, written)
    assert queue.limit == lends


def test_an_admins_limit_falls_at_once_and_rises_after_30_seconds() -> None:
    queue = Queue()
    queue.at(100, 5)
    queue.limit = None  # an admin removes the limit
    queue.at(150, 5)
    assert queue.writes[1:] == [(150, 5)]
    queue.limit = 1
    queue.at(200, 5)
    queue.at(229.9, 5)
    assert len(queue.writes) == 2
    queue.at(230, 5)
    assert queue.writes[2:] == [(230, 5)]


def test_a_rise_of_its_own_is_no_edit_that_holds_up_the_next() -> None:
    queue = Queue(limit=0)
    queue.at(100, 0)
    queue.at(200, 3)
    queue.at(215, 5)
    queue.at(230, 5)
    queue.at(245, 5)
    assert queue.writes == [(230, 3), (245, 5)]


def test_the_nominal_quota_is_the_admins() -> None:
    queue = Queue()
    queue.at(100, 12)
    queue.at(130, 12)
    queue.nominal = 16  # of which 12 can be lent
    queue.at(131, 12)
    assert queue.writes == [(131, 12)]
    queue.nominal = 12
    queue.at(150, 12)
    assert queue.writes[1:] == [(150, None)]


def test_an_excess_is_reported_at_once_and_ends_after_30_seconds() -> None:
    pace = SlackPace()
    assert pace.plan([row(-3, limit=0)], 100).excess == {KEY: 3}
    assert pace.plan([row(0, limit=0)], 110).excess == {KEY: 3}
    assert pace.plan([row(-5, limit=0)], 120).excess == {KEY: 5}
    assert pace.plan([row(1, limit=0)], 130).excess == {KEY: 5}
    assert pace.plan([row(1, limit=0)], 159.9).excess == {KEY: 5}
    assert pace.plan([row(1, limit=0)], 160).excess == {}


def test_a_resource_that_the_queue_no_longer_names_is_forgotten() -> None:
    pace = SlackPace()
    pace.plan([row(-3, limit=0)], 100)
    assert pace.plan([], 101).excess == {}
    assert [each.limit for each in pace.plan([row(8)], 102).changes] == []


@pytest.mark.parametrize(
    ("amount", "resource", "expected"),
    [
        ("8", GPU, "8"),
        ("0", GPU, "0"),
        ("100", "pods", "100"),
        ("79.5", "cpu", "79.5"),
        ("0.0001", "cpu", "0.0001"),
        (str(16 << 30), "memory", "16Gi"),
        (str(3 << 29), "memory", "1.5Gi"),
        (str((16 << 30) + 1), "memory", "17179869185"),
        ("1E+3", "pods", "1000"),
    ],
)
def test_an_amount_is_written_exactly(amount: str, resource: str, expected: str) -> None:
    assert limit_text(Decimal(amount), resource) == expected


def test_the_patch_applies_only_to_what_was_read_and_writes_nothing_but_limits() -> None:
    raw = raw_queue(
        SLACK,
        {FLAVOR: {"cpu": 80, GPU: {"nominalQuota": 8, "lendingLimit": "3"}}},
        {"other": {"memory": "8Gi"}},
    )
    free = {"cpu": "80", GPU: "8", "memory": "5Gi"}
    nodes = [labelled_node("n1", allocatable=free), labelled_node("n2", labels={"o": "1"},
        allocatable=free)]  # fmt: skip
    rows = rows_of([raw], nodes, [flavor(), flavor("other", o="1")])
    pace = SlackPace()
    pace.plan(rows, 0)
    plan = pace.plan(rows, 30)
    at = "/spec/resourceGroups"
    assert patch(stored_queue(raw), plan.changes) == [
        {"op": "test", "path": "/metadata/uid", "value": f"uid-{SLACK}"},
        {"op": "test", "path": at, "value": raw["spec"]["resourceGroups"]},
        {"op": "remove", "path": f"{at}/0/flavors/0/resources/1/lendingLimit"},
        {"op": "add", "path": f"{at}/1/flavors/0/resources/0/lendingLimit", "value": "5Gi"},
    ]


# For any fleet and any order of events.


@dataclass
class Cluster:
    """Nodes, what the slack queue of each of two flavors lends, and when it was written."""

    nominal: dict[str, int]
    promised: dict[str, int]
    limits: dict[str, str | None]
    nodes: dict[str, Node] = field(default_factory=dict)
    writes: list[float] = field(default_factory=list)
    pace: SlackPace = field(default_factory=SlackPace)

    def rows(self) -> tuple[SlackQuota, ...]:
        slack = {
            name: {GPU: {"nominalQuota": amount} | self._limit(name)}
            for name, amount in self.nominal.items()
        }
        team = {name: {GPU: amount} for name, amount in self.promised.items()}
        flavors = [flavor("any"), flavor("gold", gold="yes")]
        queues = [raw_queue("team", team), raw_queue(SLACK, slack)]
        return rows_of(queues, self.nodes.values(), flavors)

    def _limit(self, name: str) -> dict[str, str]:
        limit = self.limits.get(name)
        return {} if limit is None else {"lendingLimit": limit}

    def look(self, now: float) -> None:
        """As the keeper does, at least once a second."""
        plan = self.pace.plan(self.rows(), now)
        if not plan.changes or plan.wait:
            return
        self.writes.append(now)
        for change in plan.changes:
            name, resource = change.row.key
            limit = change.limit
            self.limits[name] = None if limit is None else limit_text(limit, resource)
        self.pace.sent(now)
        self.pace.wrote(plan.changes)


_AMOUNTS = st.integers(0, 40)
_NODES = st.builds(
    lambda name, gpus, label, gold, cordoned: labelled_node(
        name,
        label,
        allocatable={GPU: str(gpus)},
        labels={"gold": "yes"} if gold else {},
        spec={"unschedulable": True} if cordoned else {},
    ),
    st.sampled_from("abcde"),
    st.integers(0, 16),
    st.sampled_from(["", "EVICT", "TESTING", "WARN"]),
    st.booleans(),
    st.booleans(),
)
# A node as it is from then on; the name of one that is deleted; an admin's limit; a restart.
_EVENTS = st.one_of(
    _NODES,
    st.sampled_from("abcde"),
    st.tuples(st.sampled_from(["any", "gold"]), _AMOUNTS),
    st.none(),
)


def _happens(cluster: Cluster, event: object) -> None:
    match event:
        case Node():
            cluster.nodes[event.name] = event
        case str():
            cluster.nodes.pop(event, None)
        case (str() as name, int() as limit):
            cluster.limits[name] = str(min(limit, cluster.nominal[name]))
        case None:
            cluster.pace = SlackPace()
            cluster.writes.clear()  # another process: its pace is its own


def _assert_exact(rows: Iterable[SlackQuota]) -> None:
    for each in rows:
        lent, nominal = each.quota.lends, each.quota.nominal
        at_a_bound = (lent == 0 and each.promised >= each.schedulable) or (
            lent == nominal and each.promised + nominal <= each.schedulable
        )
        assert lent + each.promised == each.schedulable or at_a_bound
        assert (each.quota.lending_limit is None) == (lent == nominal)


@given(
    st.tuples(_AMOUNTS, _AMOUNTS),
    st.tuples(_AMOUNTS, _AMOUNTS),
    st.lists(st.tuples(st.sampled_from([0, 1, 5, 11, 40]), _EVENTS), max_size=30),
)
def test_once_things_settle_lendable_and_nominal_are_what_is_schedulable_or_slack_is_at_a_bound(
    nominal: tuple[int, int], promised: tuple[int, int], events: list[tuple[int, object]]
) -> None:
    names = ("any", "gold")
    cluster = Cluster(
        dict(zip(names, nominal, strict=True)), dict(zip(names, promised, strict=True)), {}
    )
    now = 0.0
    for pause, event in events:
        for _ in range(pause):
            now += 1
            cluster.look(now)
        lent_before = {row.key: row.quota.lends for row in cluster.rows()}
        edited = isinstance(event, tuple)
        _happens(cluster, event)
        cluster.look(now)
        for each in cluster.rows():
            # Nothing that happens lifts a limit at that moment.
            assert edited or each.quota.lends <= lent_before[each.key]
    for _ in range(45):
        now += 1
        cluster.look(now)
    _assert_exact(cluster.rows())
    written = cluster.writes
    assert all(later - before >= 10 for before, later in pairwise(written))
    quiet = len(written)
    for _ in range(60):
        now += 1
        cluster.look(now)
    assert len(cluster.writes) == quiet
