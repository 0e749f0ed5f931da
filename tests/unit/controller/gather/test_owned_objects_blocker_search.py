"""A garbage collector that stands still holds up everything: what is asked then is bounded."""

import asyncio
from typing import Any

import pytest

from controller.facts.deployed import DeployedObject
from controller.facts.observe import Observation, Reads
from controller.gather.owned_objects import (
    MOST_COMPONENTS,
    SEARCHES_AT_ONCE,
    BlockerSearch,
    LiveLists,
)
from controller.memory.deletions import Explanation
from controller.memory.memory import Memory
from controller.phases.phase import Phase
from controller.phases.snapshot import FaultTolerance, Snapshot
from controller.reports.deleting_resources import LeftPod
from shared.api.appwrapper import AppWrapper
from shared.kube.client import Forbidden, NotFound
from tests.support.builders.gathering import NOW, FakeDiscovery, Unserved, appwrapper
from tests.support.cluster.resources import JOBS
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.fake_kube import FakeKube, listed

TERMINATING = Snapshot(phase=Phase.TERMINATING)
READS = Reads(
    Observation(AppWrapper(appwrapper("Terminating")), TERMINATING, FaultTolerance()), NOW
)


def left(name: str) -> DeployedObject:
    return DeployedObject(JOBS, name, f"uid-{name}", True)


def going(name: str, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "deletionTimestamp": "then", **metadata}
    }


def search(client: Any) -> BlockerSearch:
    served: Any = FakeDiscovery()
    unserved = Unserved(client, FakeClock(), "")
    lists = LiveLists(client, served, unserved)
    return BlockerSearch(client, lists, unserved, Memory().deletions)


async def findings(
    names: str,
    get: list[Any],
    pods: tuple[LeftPod, ...] = (),
    *,
    forcing: bool = True,
    owned: Any = None,
) -> tuple[Explanation, tuple[DeployedObject, ...], FakeKube]:
    kube = FakeKube(answers={"get": get}, lists=[owned or [listed(9)]] * 9)
    looked_for = [left(x) for x in names]
    found, empty = await search(kube).explain(READS, looked_for, pods, forcing=forcing)
    return found, empty, kube


async def test_the_search_ends_after_a_few_components() -> None:
    names = "abcdefgh"
    _, empty, kube = await findings(names, [going(name) for name in names])
    assert len(kube.called("get")) == MOST_COMPONENTS
    assert empty == tuple(left(name) for name in names[:MOST_COMPONENTS])


@pytest.mark.parametrize("forcing", [True, False])
async def test_only_what_is_being_deleted_and_owns_nothing_is_empty(forcing: bool) -> None:
    young = {"metadata": {"name": "b", "uid": "uid-b"}}
    found, empty, _ = await findings("ab", [going("a"), young], forcing=forcing)
    assert empty == ((left("a"),) if forcing else ())
    assert found.blockers == (
        "Job a waits for the garbage collector",
        "Job b is not being deleted yet",
    )


POD = {"metadata": {"name": "p", "ownerReferences": [{"uid": "uid-a"}]}}


@pytest.mark.parametrize(
    ("owned", "blocker"),
    [
        ([listed(9, POD)], "Job a waits for Pod p"),
        (
            Forbidden(403, "Forbidden", "no"),
            "Job a may wait for objects that it owns: pods cannot be listed: 403 Forbidden: no",
        ),
    ],
    ids=["owned", "not listed"],
)
async def test_a_component_that_owns_or_may_own_objects_is_not_empty(
    owned: Any, blocker: str
) -> None:
    found, empty, _ = await findings("a", [going("a")], owned=owned)
    assert found == Explanation(NOW, True, (blocker,), (), stuck=((("none", "Job"), 1),))
    assert empty == ()


async def test_the_components_found_are_counted_by_finalizer() -> None:
    held = going("b", finalizers=["a.b/c", "foregroundDeletion"])
    found, _, _ = await findings("ab", [going("a"), held])
    assert found.stuck == ((("none", "Job"), 1), (("other", "Job"), 1))


async def test_with_pods_about_nothing_is_empty() -> None:
    found, empty, kube = await findings("a", [going("a")], (LeftPod(name="p", deleting=True),))
    assert (empty, kube.called("pages")) == ((), [])
    assert found.blockers == ("1 of 2 pods are within their grace period",)


@pytest.mark.parametrize("answer", [NotFound(404, "NotFound", "no"), going("a", uid="another")])
async def test_an_object_that_was_deleted_meanwhile_is_no_obstacle(answer: Any) -> None:
    found, empty, _ = await findings("a", [answer])
    assert (found, empty) == (Explanation(NOW, True, (), ()), ())


async def test_a_few_appwrappers_are_looked_into_at_once() -> None:
    under_way = most = 0

    class Client:
        async def get(self, *_: Any, **__: Any) -> Any:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1
            raise NotFound(404, "NotFound", "no")

    one = search(Client())
    looks = [one.explain(READS, [left("a")], (), forcing=True) for _ in range(20)]
    await asyncio.gather(*looks)
    assert most == SEARCHES_AT_ONCE
