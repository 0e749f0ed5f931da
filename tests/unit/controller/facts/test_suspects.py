"""Which node a failed attempt makes a suspect, and for how long."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.facts.suspects import suspect_of, suspects_of, with_suspect
from controller.phases.root_cause import RootCause
from controller.phases.snapshot import Suspect
from shared.api.objects import JsonObject

NOW = datetime(2026, 1, 2, 10, tzinfo=UTC)
DAY = timedelta(hours=24)


@pytest.mark.parametrize(
    ("changes", "suspect"),
    [
        ({}, Suspect(node="n1", pod="a")),
        ({"points_at_node": False}, None),
        ({"node": ""}, None),
    ],
)
def test_the_node_of_the_root_cause_is_a_suspect_unless_it_is_not_to_blame(
    changes: dict[str, Any], suspect: Suspect | None
) -> None:
    cause = RootCause(pod="a", node="n1", points_at_node=True)
    assert suspect_of(replace(cause, **changes)) == suspect
    assert suspect_of(None) is None


# The memory.


def entry(node: str, age: timedelta, attempt: int = 1) -> JsonObject:
    since = (NOW - age).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"node": node, "since": since, "pod": f"{node}-pod", "attempt": attempt}


def nodes(status: JsonObject) -> list[str]:
    return [each.node for each in suspects_of(status, NOW)]


def test_a_node_is_a_suspect_for_exactly_24_hours() -> None:
    second = timedelta(seconds=1)
    assert nodes({"suspectNodes": [entry("n1", DAY - second)]}) == ["n1"]
    assert nodes({"suspectNodes": [entry("n1", DAY)]}) == []
    (found,) = suspects_of({"suspectNodes": [entry("n1", second)]}, NOW)
    assert found.until == NOW - second + DAY


def test_times_that_no_clock_can_have_written_do_not_count() -> None:
    assert nodes({"suspectNodes": [entry("n1", timedelta(seconds=-5))]}) == ["n1"]
    assert nodes({"suspectNodes": [entry("n1", timedelta(seconds=-6))]}) == []


@pytest.mark.parametrize(
    "stored",
    [None, "n1", {}, [None, "n1", 3], [{**entry("n1", DAY / 2), "since": "yesterday"}]]
    + [[{**entry("n1", DAY / 2), key: None}] for key in ("node", "since", "pod", "attempt")]
    + [[{**entry("n1", DAY / 2), "node": ""}]],
)
def test_an_unreadable_record_is_no_suspect(stored: Any) -> None:
    assert nodes({"suspectNodes": stored}) == []


def test_at_most_two_nodes_are_remembered_the_latest_ones() -> None:
    suspect = Suspect(node="n3", pod="p")
    new = {"node": "n3", "since": "2026-01-02T10:00:00Z", "pod": "p", "attempt": 7}
    first, second = entry("n1", timedelta(hours=2)), entry("n2", timedelta(hours=1), 2)
    assert with_suspect({}, suspect, 7, NOW) == [new]
    assert with_suspect({"suspectNodes": [first]}, suspect, 7, NOW) == [first, new]
    assert with_suspect({"suspectNodes": [first, second]}, suspect, 7, NOW) == [second, new]
    assert nodes({"suspectNodes": [first, second, new]}) == ["n2", "n3"]


def test_a_node_that_fails_again_restarts_its_24_hours_and_old_suspects_expire() -> None:
    old, again = entry("n1", DAY), entry("n2", timedelta(hours=1))
    stored = with_suspect({"suspectNodes": [old, again]}, Suspect("n2", "p"), 3, NOW)
    assert stored == [
        {"node": "n2", "since": "2026-01-02T10:00:00Z", "pod": "p", "attempt": 3},
    ]
