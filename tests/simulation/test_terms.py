"""A replica that lost the lease keeps nothing of its term but full caches, as a standby has."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from shared.api.objects import Resource
from shared.kube.client import Forbidden, ListPage
from tests.simulation.api.client import SimulatedClient
from tests.simulation.choices import Recorded
from tests.simulation.scenarios import SCENARIOS, Act, Scenario
from tests.simulation.workloads import job, pytorch, wrapped
from tests.simulation.world import World

# The standby c1 leads some seconds after the freeze.
FREEZE = Act(20.0, "freeze", options={"seconds": 30.0})


# "success": the Job ends while no replica leads, so the next leader must read its caches.
@pytest.mark.parametrize("name", ["success", "retry"])
def test_a_leader_that_froze_for_long_is_an_empty_standby_when_it_wakes(name: str) -> None:
    freeze = replace(FREEZE, at=5.2)
    scenario = replace(SCENARIOS[name], leased=True, skews=(0.0, 0.0), acts=(freeze,))
    world = World(Recorded(), scenario)
    outcome = world.run()
    assert (outcome.violations, outcome.ends) == ((), scenario.ends)
    states = [each._leadership.state for each in world.replicas.values() if each._leadership]
    assert [each.lost for each in states] == [1, 0]


class Lists:
    """Records who lists what and when. `refused`: the Kinds that c1 may not list."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *refused: str) -> None:
        self.begun: list[tuple[float, str, str]] = []
        pages = SimulatedClient.pages

        async def watched(
            client: SimulatedClient, resource: Resource, *args: Any, **kwargs: Any
        ) -> AsyncIterator[ListPage]:
            self.begun.append((client._loop.now, client.name, resource.plural))
            if client.name == "c1" and resource.plural in refused:
                raise Forbidden(403, "Forbidden", "no right to list")
            async for page in pages(client, resource, *args, **kwargs):
                yield page

        monkeypatch.setattr(SimulatedClient, "pages", watched)

    def of(self, plural: str) -> list[float]:
        """When c1 listed these objects."""
        return [at for at, name, listed in self.begun if (name, listed) == ("c1", plural)]


def taken_over(*late: Any) -> tuple[World, float]:
    """A Job runs while c1 takes over. Return the world after its end, and when c1 became leader."""
    first = (1.0, wrapped("a", job(run_for="1m")))
    others = tuple((25.0, wrapped("b", each)) for each in late)
    ends = dict.fromkeys(("a", "b") if late else ("a",), "Succeeded")
    scenario = Scenario(
        "takeover", (first, *others), (FREEZE,), ends, leased=True, skews=(0.0, 0.0)
    )
    world = World(Recorded(), scenario)
    began: list[float] = []
    world.made.append(lambda _: began.append(world.cluster.loop.now))
    outcome = world.run()
    assert (outcome.violations, outcome.ends) == ((), ends)
    assert len(began) == 2
    assert FREEZE.at < began[1] < FREEZE.at + 13.0
    return world, began[1]


def test_a_standby_lists_nothing_that_it_knows_when_it_takes_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lists = Lists(monkeypatch)
    _, led = taken_over(pytorch("x"))
    for known in ("appwrappers", "jobs", "workloads", "localqueues", "clusterqueues"):
        [listed] = lists.of(known)
        assert listed < FREEZE.at
    # Nothing of this Kind existed before.
    [operated] = lists.of("pytorchjobs")
    assert operated > led


def test_a_standby_that_may_not_list_a_kind_is_ready_and_takes_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lists = Lists(monkeypatch, "jobs")
    world, led = taken_over()
    tries = lists.of("jobs")
    assert tries[0] < FREEZE.at
    assert tries[-1] > led
    assert world.replicas["c1"]._ready().status == 200
