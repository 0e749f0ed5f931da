"""A reset that was decided needs a permit, and is decided again if it must wait."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controller.facts.nodes import UNREACHABLE
from controller.phases.actions import DeleteComponents, DeletionMode
from controller.phases.ask import Need
from controller.phases.phase import Phase
from controller.phases.silent_nodes import CutOff, UnreachablePods
from controller.phases.snapshot import Evacuation, HoldReason, PodCounts, Timers
from shared.api.conditions import Terminal
from shared.kube.client import Unreachable
from tests.support.builders.autopilot import GPU
from tests.support.decisions import JOB, RUNNING
from tests.support.fakes.fake_clock import START
from tests.support.fakes.reconciled import EVACUATION, KEY, Reconciled

ONE_FAILED = PodCounts(expected=4, running=3, failed=1)
CACHED = [Need.OBSERVED]
LIVE = [Need.LIVE_PODS]
LABELS = [Need.LIVE_LABELS]
GAVE_UP = "FailedComponent"
ADMIN = "an admin must confirm"


def running(evacuation: Evacuation | None = None, **config: Any) -> Reconciled:
    snapshot = replace(RUNNING.snapshot, labelled_pods=4, evacuation=evacuation)
    return Reconciled(snapshot, **config)


def gave_up(**config: Any) -> Reconciled:
    world = running(**config)
    job = replace(JOB, terminal=Terminal.FAILED, message="gave up")
    world.snapshot = replace(world.snapshot, components=(job,))
    return world


async def test_a_reset_takes_a_token_and_waits_without_one() -> None:
    world = gave_up()
    world.use_the_token()
    assert await world.moved() == ""
    assert world.unhealthy.startswith("ResetThrottled: ")
    assert world.reset_gate.held(HoldReason.RATE) == [KEY]


@pytest.mark.parametrize(
    ("retry_limit", "stale", "asked"),
    [
        pytest.param(0, {"pods": ONE_FAILED}, LIVE, id="it would fail for a failed pod"),
        pytest.param(3, {"pods": ONE_FAILED}, LIVE, id="it would be reset for a failed pod"),
        pytest.param(0, {"evacuation": EVACUATION}, LABELS + LIVE, id="it would fail for a node"),
    ],
)
async def test_pods_that_only_a_cache_shows_end_nothing(
    retry_limit: int, stale: dict[str, Any], asked: list[Need]
) -> None:
    world = running(retry_limit=retry_limit)
    world.live = {key: getattr(world.snapshot, key) for key in stale}
    world.snapshot = replace(world.snapshot, **stale)
    assert (await world.moved(), world.unhealthy) == ("", "")
    assert world.reads == [CACHED + asked]


@pytest.mark.parametrize(("retry_limit", "asked"), [(3, LABELS), (0, LABELS)])
async def test_a_label_that_only_a_cache_shows_evacuates_nothing(
    retry_limit: int, asked: list[Need]
) -> None:
    world = running(EVACUATION, retry_limit=retry_limit)
    world.labels = {"evacuation": None}
    assert (await world.moved(), world.unhealthy) == ("", "")
    assert world.reads == [CACHED + asked]


async def test_a_reset_is_permitted_after_the_api_server_confirms_it() -> None:
    world = running()
    world.snapshot = replace(world.snapshot, pods=ONE_FAILED)
    assert await world.moved() == "Resetting: FoundFailedPods"
    assert world.reads == [CACHED + LIVE]


async def test_the_live_pods_of_a_failed_component_are_read_last() -> None:
    world = gave_up()
    assert await world.moved() == f"Resetting: {GAVE_UP}"
    assert world.reads == [[*CACHED, Need.NAMESPACE, *LIVE]]


async def test_an_evacuation_needs_live_labels_but_no_token_and_no_live_pods() -> None:
    world = running(EVACUATION)
    world.use_the_token()
    assert await world.moved() == "Resetting: AutopilotNoExecute"
    assert world.reads == [CACHED + LABELS]


@pytest.mark.parametrize(
    ("retry_limit", "phase"), [(3, "Resetting"), pytest.param(0, "Failed", id="no retry is left")]
)
async def test_a_held_evacuation_is_reported_until_it_is_permitted(
    retry_limit: int, phase: str
) -> None:
    world = running(EVACUATION, retry_limit=retry_limit)
    world.breakers.message = ADMIN
    assert await world.moved() == ""
    assert world.unhealthy == f"EvacuationBreakerOpen: node n1 is bad; {ADMIN}"
    assert world.reset_gate.held(HoldReason.BREAKER) == [KEY]
    world.breakers.message = None
    assert await world.moved() == f"{phase}: AutopilotNoExecute"


async def test_a_failure_without_retries_left_needs_no_permit() -> None:
    world = gave_up(retry_limit=0)
    world.reset_gate.paused = True
    assert await world.moved() == f"Failed: {GAVE_UP}"


@pytest.mark.parametrize("throttled", [False, True])
async def test_a_failed_pod_is_reset_while_the_evacuation_is_held(throttled: bool) -> None:
    world = running(EVACUATION)
    world.snapshot = replace(world.snapshot, pods=ONE_FAILED)
    world.breakers.message = ADMIN
    if not throttled:
        assert await world.moved() == "Resetting: FoundFailedPods"
        return
    world.use_the_token()
    assert await world.moved() == ""
    # Only the rate limit holds the reset for the failed pod.
    text = "1 failed pod; resets in this cluster are paced at 1 a second"
    assert world.unhealthy == f"ResetThrottled: {text}"
    assert world.reset_gate.held(HoldReason.BREAKER) == [KEY]
    assert world.reset_gate.held(HoldReason.RATE) == [KEY]


@pytest.mark.parametrize("world", [gave_up(), running(EVACUATION)])
async def test_a_pause_holds_every_reset(world: Reconciled) -> None:
    world.reset_gate.paused = True
    assert await world.moved() == ""
    assert world.unhealthy.startswith("ResetsPaused: ")
    assert world.reset_gate.held(HoldReason.PAUSED) == [KEY]


async def test_a_healthy_appwrapper_waits_for_no_permit() -> None:
    world = running()
    world.reset_gate.paused = True
    assert (await world.moved(), world.unhealthy) == ("", "")
    assert world.reset_gate.held(HoldReason.PAUSED) == []


async def test_an_appwrapper_that_recovers_loses_its_place() -> None:
    world = gave_up()
    world.use_the_token()
    await world.moved()
    assert world.reset_gate.held(HoldReason.RATE) == [KEY]
    world.snapshot = running().snapshot
    assert (await world.moved(), world.unhealthy) == ("", "")
    assert world.reset_gate.held(HoldReason.RATE) == []
    assert world.asks("third") == timedelta(seconds=1), "it is the next in line"


async def test_a_pass_that_fails_keeps_the_token_and_one_that_needs_none_returns_it() -> None:
    world = gave_up()
    world.unreadable = {Need.LIVE_PODS}
    with pytest.raises(Unreachable):
        await world.moved()
    world.unreadable = {Need.OBSERVED}
    with pytest.raises(Unreachable):
        await world.moved()
    world.unreadable = set()
    world.asks("other")
    assert await world.moved() == f"Resetting: {GAVE_UP}", "its token is from the first pass"
    world.snapshot = running().snapshot
    await world.moved()
    world.snapshot = gave_up().snapshot
    assert await world.moved() == "", "it asks for another token"


async def test_a_larger_evacuation_than_the_permitted_one_needs_another_permit() -> None:
    world = running(EVACUATION, retry_limit=0)
    world.live = {"evacuation": replace(EVACUATION, resources=frozenset({GPU, "example.com/nic"}))}
    world.breakers.closed = {"example.com/nic": ADMIN}
    assert await world.moved() == ""
    assert world.unhealthy == f"EvacuationBreakerOpen: node n1 is bad; {ADMIN}"
    assert world.reads == [[*CACHED, *LABELS, *LIVE]]


async def test_a_reset_asks_for_the_resources_of_the_pods_on_silent_nodes() -> None:
    """Also if a label moved the AppWrapper: one open breaker keeps the pods there."""
    silent = UnreachablePods(
        message="node n1",
        since=START - timedelta(hours=1),
        pods=1,
        suspects=(),
        resources=frozenset({UNREACHABLE, GPU}),
    )
    world = running(EVACUATION)
    world.snapshot = replace(
        world.snapshot,
        phase=Phase.RESETTING,
        conditions=world.snapshot.conditions | {"DeletingResources"},
        timers=Timers(forceful_deletion=START),
        unreachable=silent,
        cut_off=(CutOff("n1", silent.since, "Pod a"),),
    )
    for closed, forced in (({UNREACHABLE: ADMIN}, False), ({}, True)):
        world.breakers.closed = closed
        await world.moved()
        modes = [each.mode for each in world.applied if isinstance(each, DeleteComponents)]
        assert (DeletionMode.FORCE_CUT_OFF in modes) is forced
