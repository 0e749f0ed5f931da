"""Pods that others took the place of: told of once, with what their nodes can still do."""

from typing import Any

from controller.facts.deployed import Deployed
from controller.facts.pods import project_pod
from controller.phases.actions import Actions, DeleteComponents, DeletionMode, Reason, Warn
from controller.phases.deletion import force_ghosts
from controller.phases.snapshot import Ghosts, Snapshot
from shared.api.objects import PODS
from tests.support.builders.gathering import (
    NOT_FOUND,
    RUNNING_PODS,
    Gathering,
    appwrapper,
    facts,
    raw_pod,
)

LONG_AGO = "2025-12-31T23:50:00Z"  # ten minutes before now


def ghost(asked: str = LONG_AGO, name: str = "old", **spec: Any) -> Any:
    item = raw_pod(name, "Running")
    item["metadata"] |= {"deletionTimestamp": asked, "deletionGracePeriodSeconds": 0}
    return project_pod({**item, "spec": spec})


def running(*pods: Any, phase: str = "Running", get: list[Any] | None = None) -> Gathering:
    item = appwrapper(phase, "QuotaReserved")
    return Gathering(item, known=facts(), pods=(*RUNNING_PODS, *pods), get=get or [])


def decided(snapshot: Snapshot) -> Actions:
    assert snapshot.ghosts is not None
    return force_ghosts(snapshot.ghosts)


async def test_a_ghost_is_reported_once_and_forced_while_it_exists() -> None:
    bench = running(ghost(nodeName="n7"), get=[{"metadata": {}}])
    old = Deployed(PODS, "old", "old", True, attempt="1", node="n7", leaves=LONG_AGO)
    first = await bench.observe()
    assert (first.ghosts, first.snapshot.ghosts) == ((old,), Ghosts("old on n7"))
    assert decided(first.snapshot) == (
        DeleteComponents(DeletionMode.FORCE_GHOSTS),
        Warn(
            Reason.GHOSTS,
            "deleted and replaced, but still there after the forceful deletion period; the "
            "controller deletes them by force: old on n7",
        ),
    )
    bench.deletions.force("u1", "old", 0.0)
    again = await bench.observe()
    assert (again.ghosts, again.snapshot.ghosts) == ((old,), Ghosts())
    assert decided(again.snapshot) == (DeleteComponents(DeletionMode.FORCE_GHOSTS),)


async def test_several_are_named_in_the_order_of_their_names() -> None:
    earlier = ghost("2025-12-31T23:49:00Z", name="old-1")
    found = await running(earlier, ghost(name="old-0")).observe()
    assert [pod.name for pod in found.ghosts] == ["old-1", "old-0"]
    assert found.snapshot.ghosts == Ghosts("old-0, old-1")


async def test_a_ghost_that_may_not_be_deleted_is_reported_once() -> None:
    bench = running(ghost(nodeName="n7"))
    bench.deletions.refuse("u1", "old", "a webhook says no")
    observation = await bench.observe()
    assert [pod.name for pod in observation.ghosts] == ["old"]
    assert observation.snapshot.ghosts == Ghosts()


async def test_after_a_restart_a_ghost_is_reported_again() -> None:
    for _ in range(2):
        found = (await running(ghost()).observe()).snapshot
        assert found.ghosts == Ghosts("old")


async def test_a_node_that_is_silent_is_named() -> None:
    bench = running(ghost(nodeName="n7"), get=[NOT_FOUND])
    observation = await bench.observe()
    off = "Pod old on node n7, which no longer exists"
    assert observation.snapshot.ghosts == Ghosts("old on n7", (off,))
    assert observation.silent_nodes == frozenset({"n7"})
    assert decided(observation.snapshot)[2] == Warn(
        Reason.FORCED_ON_UNREACHABLE_NODE, f"deleted without confirmation from its node: {off}"
    )


async def test_before_the_period_ends_no_request_is_sent() -> None:
    bench = running(ghost("2025-12-31T23:50:01Z", nodeName="n7"))
    observation = await bench.observe()
    assert (observation.ghosts, observation.snapshot.ghosts) == ((), None)
    assert observation.look_again is not None
    assert observation.look_again.total_seconds() == 1
    assert bench.methods() == []


async def test_a_failed_appwrapper_has_ghosts_too() -> None:
    kept = running(ghost(), phase="Failed")
    assert (await kept.observe()).snapshot.ghosts == Ghosts("old")
