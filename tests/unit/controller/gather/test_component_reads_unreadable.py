"""A component that the API server does not show blocks its own proof, and nothing else."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from controller.facts.deployed import DeployedObject
from controller.facts.observe import LOOK_AT_UNWATCHED
from controller.phases import decide
from controller.phases.actions import MoveTo
from controller.phases.phase import Phase
from controller.phases.snapshot import Presence
from controller.reports.deleting_resources import EXPLAIN_AFTER
from shared.api.times import format_precise_time
from shared.kinds.ray import RAY_CLUSTERS
from shared.kube.client import ApiError, Forbidden, TooManyRequests, Unauthorized, Unreachable
from tests.support.builders.gathering import (
    NOW,
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
    job,
)
from tests.support.cluster.resources import JOBS
from tests.support.fakes.fake_kube import listed

NO = Forbidden(403, "Forbidden", "jobs is forbidden")
BROKEN = ApiError(500, "InternalError", "conversion webhook failed")
FORBIDDEN = "403 Forbidden: jobs is forbidden"
DELETING = ("QuotaReserved", "ResourcesDeployed", "DeletingResources")
HELD = ("QuotaReserved", "ResourcesDeployed")


def unwatched(item: Any, *, pods: Any = RUNNING_PODS, **answers: Any) -> Gathering:
    """No list of its Kind ever came."""
    bench = Gathering(item, pods=pods, **answers)
    bench.watches.watched = False
    return bench


async def move_of(bench: Gathering) -> Phase | None:
    observation = await bench.observe()
    actions = decide(observation.snapshot, NOW, observation.config)
    return next((each.phase for each in actions if isinstance(each, MoveTo)), None)


@pytest.mark.parametrize(
    ("error", "message"),
    [(NO, FORBIDDEN), (BROKEN, "500 InternalError: conversion webhook failed")],
)
async def test_an_unreadable_component_does_not_stop_the_observation(
    error: Any, message: str
) -> None:
    bench = unwatched(appwrapper("Running", *HELD), get=[error])
    observation = await bench.observe()
    (component,) = observation.snapshot.components
    assert (component.presence, component.unreadable) == (Presence.UNKNOWN, message)
    assert observation.snapshot.pods.running == 2
    assert observation.look_again == LOOK_AT_UNWATCHED
    assert bench.unserved.asked == []
    assert await move_of(unwatched(appwrapper("Running", *HELD), get=[error])) is None


async def test_suspending_and_deleting_do_not_wait_for_it() -> None:
    suspended = appwrapper("Running", *HELD, spec={"suspend": True})
    assert await move_of(unwatched(suspended, get=[NO])) is Phase.SUSPENDING
    deleted = appwrapper("Running", *HELD, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    # While it is to be proved that all is gone.
    assert await move_of(unwatched(deleted, get=[NO])) is Phase.TERMINATING


@pytest.mark.parametrize(
    "error",
    [
        Unreachable("away"),
        TooManyRequests(429, "TooManyRequests", "later"),
        Unauthorized(401, "Unauthorized", "who?"),
    ],
)
async def test_an_unreachable_api_server_fails_the_pass(error: Any) -> None:
    with pytest.raises(type(error)):
        await unwatched(appwrapper("Running", *HELD), get=[error]).observe()


async def test_a_read_without_an_answer_ends_after_5_s() -> None:
    """A conversion webhook that does not answer keeps the API server for half a minute."""
    bench = unwatched(appwrapper("Running", *HELD))
    client: Any = bench.kube

    asked = 0

    async def get(*_: Any, **__: Any) -> Any:
        nonlocal asked
        asked += 1
        await asyncio.Event().wait()

    client.get = get
    first = asyncio.create_task(bench.observe())
    await bench.clock.advance(4.9)
    assert not first.done()
    await bench.clock.advance(0.1)
    for observation in (await first, await bench.observe()):
        (component,) = observation.snapshot.components
        assert component.unreadable == "no answer within 5 s"
    assert asked == 1  # for as long as the Kind counts as silent


async def test_a_kind_that_cannot_be_looked_up_is_no_better() -> None:
    bench = unwatched(appwrapper("Running", *HELD))
    served: Any = bench.served

    async def in_any_version(*_: Any, **__: Any) -> Any:
        raise ApiError(503, "ServiceUnavailable", "its API server is away")

    served.in_any_version = in_any_version
    (component,) = (await bench.observe()).snapshot.components
    assert component.presence is Presence.UNKNOWN
    assert component.unreadable == "503 ServiceUnavailable: its API server is away"
    assert bench.unserved.asked == []


async def test_objects_of_a_refused_watch_are_read_live() -> None:
    """It may have ended since, or be gone."""
    item = appwrapper("Running", *HELD)
    complete: dict[str, Any] = {"conditions": [{"type": "Complete", "status": "True"}]}
    answers: dict[str, Any] = {"get": [NO, job(**complete)], "lists": [[listed(9)]]}
    bench = Gathering(item, known=facts(), pods=RUNNING_PODS, **answers)
    bench.watches.refused = True
    observation = await bench.observe()
    (component,) = observation.snapshot.components
    assert (component.presence, component.unreadable) == (Presence.PRESENT, FORBIDDEN)
    assert observation.look_again == LOOK_AT_UNWATCHED
    # Enough to ask for its deletion.
    assert observation.deployed == (DeployedObject(JOBS, "train", "j1", False, attempt="1"),)
    (component,) = (await bench.observe()).snapshot.components
    assert (component.terminal, component.unreadable) == ("Succeeded", "")


def deleting(began: timedelta = timedelta(), phase: str = "Suspending") -> dict[str, Any]:
    timer = {
        "began": format_precise_time(NOW - began),
        "phase": phase,
        "attempt": 1,
        "resettingCount": 0,
    }
    return appwrapper(phase, *DELETING, timers={"forcefulDeletion": timer})


async def test_it_blocks_its_own_proof_and_is_named_at_once() -> None:
    bench = unwatched(deleting(), pods=(), get=[NO])
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.gone, snapshot.blockers) == (
        False,
        (f"Job train cannot be read: {FORBIDDEN}",),
    )


async def test_its_pods_are_left_to_it_until_it_can_be_deleted() -> None:
    bench = unwatched(deleting(), get=[NO])
    assert not (await bench.observe()).snapshot.stray_pods


@pytest.mark.parametrize("known", [facts(), None], ids=["seen before", "never seen"])
async def test_a_deletion_that_takes_long_names_it_still(known: Any) -> None:
    bench = Gathering(deleting(EXPLAIN_AFTER), known=known, get=[NO, NO], lists=[[listed(9)]])
    bench.watches.watched = known is not None
    snapshot = (await bench.observe()).snapshot
    assert (snapshot.gone, snapshot.blockers) == (
        False,
        (f"Job train cannot be read: {FORBIDDEN}",),
    )


async def test_once_it_can_be_read_all_goes_on() -> None:
    bench = unwatched(deleting(), pods=(), get=[NO, job()])
    await bench.observe()
    observation = await bench.observe()
    assert observation.snapshot.blockers == ()
    assert observation.deployed == (DeployedObject(JOBS, "train", "j1", False, attempt="1"),)


async def test_makers_of_pods_that_cannot_be_listed_block_the_proof_too() -> None:
    item = deleting()
    deployment = {"kind": "RayJob", "apiVersion": "ray.io/v1"}
    item["status"]["componentStatus"][0].update(deployment)
    template = {"metadata": {"name": "train"}, **deployment}
    item["spec"]["components"] = [{"template": template}]
    bench = Gathering(
        item, obstacle="", unserved=("ray.io/RayJob",), lists=[NO, [listed(9)], [listed(9)]]
    )
    bench.served.more = (RAY_CLUSTERS,)
    snapshot = (await bench.observe()).snapshot
    assert not snapshot.gone
    assert snapshot.blockers == (f"rayclusters cannot be listed: {FORBIDDEN}",)
