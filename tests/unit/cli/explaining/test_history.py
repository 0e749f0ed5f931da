"""The history of an AppWrapper, from Kueue's events, the controller's, and the conditions."""

from dataclasses import replace
from typing import Any

import pytest

from cli.cluster.unread import objects
from cli.explaining.compose import explain
from cli.explaining.report import ExplainReport
from shared.api.objects import JsonObject
from tests.support.builders.explained.deployed import runs
from tests.support.builders.explained.ending import failed, succeeded
from tests.support.builders.explained.objects import NOW, ago, event

ADMITTED = "admitted: its components are created"
WARNING = event("InvalidAnnotation", "metadata.annotations: no", 10, "Warning")


def started(seconds: float, **fields: Any) -> JsonObject:
    """Kueue's event, as Kueue 0.19 emits it."""
    times = {"firstTimestamp": None, "lastTimestamp": None, "eventTime": ago(seconds), "count": 0}
    return event("Started", "Admitted by clusterQueue q", seconds, **times | fields)


def happened(report: ExplainReport) -> list[tuple[str, int]]:
    """What happened, with its age in seconds."""
    return [(each.what, round((NOW - each.at).total_seconds())) for each in report.timeline]


def test_an_attempt_begins_with_kueues_event() -> None:
    report = explain(replace(succeeded(), events=(started(4100),)))
    assert (ADMITTED, 4100) in happened(report)
    assert [(NOW - each.began).total_seconds() for each in report.attempts if each.began] == [4100]


def test_a_series_of_kueues_event_counts_as_so_many_admissions() -> None:
    series = {"count": 2, "lastObservedTime": ago(60)}
    report = explain(replace(runs(), events=(started(300, series=series),)))
    assert (f"{ADMITTED} (2 times)", 60) in happened(report)


@pytest.mark.parametrize("events", [(), (WARNING,)], ids=["none", "another one"])
def test_without_kueues_event_the_condition_shows_when_the_attempt_began(events: Any) -> None:
    report = explain(replace(succeeded(), events=events))
    assert ("attempt 1 began", 4200) in happened(report)


def test_the_success_is_in_the_timeline_without_an_event() -> None:
    for events in ((), succeeded().events):
        assert ("succeeded", 300) in happened(explain(replace(succeeded(), events=events)))
    assert all(what != "succeeded" for what, _ in happened(explain(runs())))


def named(number: int, told: JsonObject) -> JsonObject:
    """An event with a name like those of recorders, which contain the time."""
    return told | {"metadata": {"namespace": "team1", "name": f"train.{number:016x}"}}


@pytest.mark.parametrize(
    "told",
    [ago(2500).replace("Z", ".900000Z"), ago(2498).replace("Z", ".200000Z")],
    ids=["in the second of its failure", "told late by Kueue"],
)
def test_an_attempt_that_failed_at_once_has_its_reason(told: str) -> None:
    case = failed()
    events = (started(0, eventTime=told), *objects(case.events)[1:])
    case = replace(case, events=tuple(named(*each) for each in enumerate(events)))
    assert [each.reason for each in explain(case).attempts] == [
        "FoundFailedPods",
        "FailedComponent",
        "InsufficientPodsReady",
        "FoundFailedPods",
    ]
