"""Which node a failed attempt makes a suspect, and for how long."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controller.facts.pods import Pod
from controller.facts.suspects import (
    points_at_node,
    suspect_among,
    suspects_of,
    with_suspect,
)
from controller.phases.snapshot import FaultTolerance, Suspect
from shared.api.objects import JsonObject
from tests.support.builders.remembered_pods import pod

NOW = datetime(2026, 1, 2, 10, tzinfo=UTC)
CONFIG = FaultTolerance()
DAY = timedelta(hours=24)


def failed(name: str = "a", **changes: Any) -> Pod:
    fields = {"node": f"n-{name}", "failed_at": "2026-01-01T10:00:00Z", "exit_codes": (1,)}
    return pod(name, "Failed", **{**fields, **changes})


@pytest.mark.parametrize(
    ("changes", "config", "points"),
    [
        ({}, CONFIG, True),
        ({"exit_codes": (139,)}, CONFIG, True),
        ({"exit_codes": ()}, CONFIG, True),
        ({"cause": "UnexpectedAdmissionError"}, CONFIG, True),
        ({"cause": "StartError", "exit_codes": (128,)}, CONFIG, True),
        ({"exit_codes": (126,)}, CONFIG, False),
        ({"exit_codes": (1, 127)}, CONFIG, False),
        ({}, FaultTolerance(terminal_exit_codes=frozenset({1})), False),
        ({}, FaultTolerance(retryable_exit_codes=frozenset({2})), False),
        ({}, FaultTolerance(retryable_exit_codes=frozenset({1})), True),
        ({"cause": "OOMKilled"}, CONFIG, False),
    ],
)
def test_failures_that_suggest_a_bad_node(
    changes: dict[str, Any], config: FaultTolerance, points: bool
) -> None:
    assert points_at_node(failed(**changes), config) is points


def test_the_first_failure_decides_whichever_failed_later() -> None:
    later = failed("a", failed_at="2026-01-01T10:00:01Z")
    first = failed("b")
    assert suspect_among([later, first], CONFIG) == Suspect(node="n-b", pod="b")
    users = failed("c", failed_at="2026-01-01T09:59:59Z", cause="OOMKilled")
    assert suspect_among([later, first, users], CONFIG) is None


def test_within_a_second_killed_pods_come_last_and_names_decide() -> None:
    killed = [failed("a", exit_codes=(137,)), failed("b", exit_codes=(143,))]
    own = [failed("d"), failed("c", exit_codes=(134,))]
    assert suspect_among([*killed, *own], CONFIG) == Suspect(node="n-c", pod="c")
    assert suspect_among(reversed([*killed, *own]), CONFIG) == Suspect(node="n-c", pod="c")
    assert suspect_among(killed, CONFIG) == Suspect(node="n-a", pod="a")


def test_a_deleted_or_unscheduled_pod_makes_no_suspect() -> None:
    assert suspect_among([], CONFIG) is None
    assert suspect_among([failed(failed_at="")], CONFIG) is None
    assert suspect_among([failed(node="")], CONFIG) is None
    beside = failed("b", failed_at="2026-01-01T11:00:00Z")
    assert suspect_among([failed(failed_at=""), beside], CONFIG) == Suspect("n-b", "b")


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
