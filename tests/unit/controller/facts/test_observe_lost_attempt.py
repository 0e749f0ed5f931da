"""A status without the number of the attempt, as a program with the Go operator's types leaves it.

What was deployed is found all the same, by what this process remembers or by its labels.
"""

from typing import Any

import pytest

from controller.facts.pods import project_pod
from controller.phases.snapshot import PodCounts, Presence
from tests.support.builders.gathering import (
    NOT_FOUND,
    Gathering,
    appwrapper,
    facts,
    job,
    raw_pod,
)


def without_number(phase: str = "Running", **changes: Any) -> Any:
    item = appwrapper(phase, **changes)
    del item["status"]["attempt"]
    return item


def pods(attempt: str) -> Any:
    return tuple(project_pod(raw_pod(name, "Running", attempt)) for name in ("a", "b"))


@pytest.mark.parametrize("phase", ["Resuming", "Running"])
async def test_the_number_is_read_from_what_was_deployed(phase: str) -> None:
    bench = Gathering(without_number(phase), known=facts(attempt="3"), pods=pods("3"))
    observation = await bench.observe()
    assert observation.appwrapper.attempt == 3
    snapshot = observation.snapshot
    assert snapshot.planned
    assert [each.presence for each in snapshot.components] == [Presence.PRESENT]
    assert snapshot.pods == PodCounts(expected=2, running=2)


async def test_the_number_is_read_from_pods_where_the_component_is_missing() -> None:
    namespace = {"metadata": {"name": "team1"}}
    bench = Gathering(without_number(), pods=pods("3"), get=[NOT_FOUND, NOT_FOUND, namespace])
    observation = await bench.observe()
    assert observation.appwrapper.attempt == 3
    assert observation.snapshot.components[0].presence is Presence.GONE


async def test_objects_created_by_this_process_are_remembered() -> None:
    bench = Gathering(without_number(), known=facts(), pods=pods("1"), created=True)
    observation = await bench.observe()
    assert observation.appwrapper.attempt == 1
    assert observation.snapshot.components[0].presence is Presence.PRESENT


async def test_creations_stay_remembered_if_the_components_lost_their_conditions_too() -> None:
    item = without_number(created=False)
    bench = Gathering(item, known=facts(), pods=pods("1"), created=True)
    assert (await bench.observe()).appwrapper.attempt == 1
    assert bench.creations.known("u1", 1).created.get(0) == "j1"


@pytest.mark.parametrize("label", ["", "second", "-1", "1.5", "٣", "9" * 10])
async def test_an_attempt_label_that_is_no_number_counts_as_the_go_operators(label: str) -> None:
    bench = Gathering(without_number(), known=facts(attempt=label))
    observation = await bench.observe()
    assert observation.appwrapper.attempt == 0
    assert observation.snapshot.components[0].presence is Presence.PRESENT


async def test_a_pod_of_another_appwrapper_shows_no_attempt() -> None:
    foreign = raw_pod("a", "Running", "7")
    foreign["metadata"]["labels"]["workload.codeflare.dev/uid"] = "u2"
    bench = Gathering(without_number(), known=facts(attempt="3"), pods=(project_pod(foreign),))
    assert (await bench.observe()).appwrapper.attempt == 3


@pytest.mark.parametrize("phase", ["", "Suspended"])
async def test_before_a_deployment_there_is_none(phase: str) -> None:
    item = without_number(phase, created=False)
    bench = Gathering(item, known=facts(), pods=pods("1"), created=True)
    assert (await bench.observe()).appwrapper.attempt == 0


async def test_a_suspended_appwrapper_keeps_its_attempt() -> None:
    bench = Gathering(without_number("Suspended"), created=True)
    assert (await bench.observe()).appwrapper.attempt == 1


async def test_a_recorded_attempt_takes_precedence() -> None:
    answers = [job(), {"metadata": {"name": "team1"}}]
    bench = Gathering(appwrapper("Running", attempt=0), known=facts(), created=True, get=answers)
    observation = await bench.observe()
    assert observation.appwrapper.attempt == 0
    assert observation.snapshot.components[0].presence is Presence.GONE
