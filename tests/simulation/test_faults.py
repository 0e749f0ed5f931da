"""The faults of a write: what the sender learns, and when the write takes effect."""

import asyncio

import pytest

from shared.api.objects import CONFIGMAPS, NAMESPACES
from shared.kube.client import ApiError, KubeError, Unreachable
from tests.simulation.api.client import SimulatedClient
from tests.simulation.choices import Recorded
from tests.simulation.cluster import Cluster
from tests.simulation.faults import OTHER_CLIENTS, WRITE_FAULTS, Faults
from tests.simulation.processes import Processes

# The fault, what the sender learns ("" for nothing: it died), and the second of the effect.
CASES = [
    ("none", "200", 0.0),
    ("crash before", "", None),
    ("crash after", "", 0.0),
    ("lost answer", "Unreachable", 0.0),
    ("500", "500", None),
    ("409", "409", None),
    ("late 2", "", 2.0),
    ("late 6", "", 6.0),
    ("late 15", "", 15.0),
    ("late next", "", None),
    ("ghost 6", "Unreachable", 6.0),
    ("ghost 40", "Unreachable", 40.0),
    ("ghost next", "Unreachable", None),
    ("freeze 20", "200", 0.0),
    ("freeze 90", "200", 0.0),
    *((each, "200", 0.0) for each in sorted(OTHER_CLIENTS)),
    ("429", "200", 1.0),  # the client waits as requested, and sends again
]


class _Written:
    """A process that creates one ConfigMap, under one fault."""

    def __init__(self, fault: str) -> None:
        place = ("write POST configmaps/a", 1)
        self.cluster = Cluster(Recorded({place: WRITE_FAULTS.index(fault)}))
        self.faults = Faults(self.cluster, until=0.5)
        self.processes = Processes(self.cluster, self.faults, lambda client, _: self._write(client))
        self.learned: list[tuple[str, float]] = []
        self.cluster.run(self._main())

    @property
    def effect(self) -> float | None:
        writes = self.cluster.store.history[CONFIGMAPS]
        return writes[0].at if writes else None

    async def _main(self) -> None:
        self.cluster.store.create(NAMESPACES, None, {"metadata": {"name": "team"}})
        self.processes.start("writer")
        await asyncio.sleep(100.0)
        await self.processes.stop()

    async def _write(self, client: SimulatedClient) -> None:
        if client.name != "writer":
            return  # the next life writes nothing
        try:
            await client.create(CONFIGMAPS, "team", {"metadata": {"name": "a"}})
            self._learn("200")
        except ApiError as error:
            self._learn(str(error.status))
        except KubeError as error:
            self._learn(type(error).__name__)

    def _learn(self, text: str) -> None:
        self.learned.append((text, self.cluster.loop.now))


def test_every_fault_of_a_write_has_a_case() -> None:
    assert {fault for fault, _, _ in CASES} == set(WRITE_FAULTS)


@pytest.mark.parametrize(("fault", "learned", "effect"), CASES, ids=[case[0] for case in CASES])
def test_a_fault_decides_the_answer_to_a_write_and_the_time_of_its_effect(
    fault: str, learned: str, effect: float | None
) -> None:
    run = _Written(fault)
    assert run.effect == (None if effect is None else pytest.approx(effect, abs=0.01))
    assert [text for text, _ in run.learned] == ([learned] if learned else [])
    assert run.faults.injected.total() == (fault != "none")


def test_a_frozen_sender_learns_the_answer_when_it_wakes() -> None:
    [(_, at)] = _Written("freeze 20").learned
    assert at == pytest.approx(20.0, abs=0.01)


def test_a_postponed_write_takes_effect_before_the_next_of_its_kind() -> None:
    cluster = Cluster(Recorded({("write POST configmaps/a", 1): WRITE_FAULTS.index("ghost next")}))
    client = SimulatedClient(cluster, Faults(cluster, until=0.5), "writer")

    async def main() -> None:
        cluster.store.create(NAMESPACES, None, {"metadata": {"name": "team"}})
        with pytest.raises(Unreachable):
            await client.create(CONFIGMAPS, "team", {"metadata": {"name": "a"}, "data": {"n": "1"}})
        await asyncio.sleep(5.0)
        with pytest.raises(ApiError, match="already exists"):
            await client.create(CONFIGMAPS, "team", {"metadata": {"name": "a"}, "data": {"n": "2"}})

    cluster.run(main())
    [write] = cluster.store.history[CONFIGMAPS]
    assert write.item["data"] == {"n": "1"}
    assert write.at == pytest.approx(5.0, abs=0.01)


def test_an_outage_refuses_requests_and_cuts_watches() -> None:
    cluster = Cluster(Recorded())
    faults = Faults(cluster)
    client = SimulatedClient(cluster, faults, "reader")

    async def main() -> list[float]:
        cluster.store.create(NAMESPACES, None, {"metadata": {"name": "team"}})
        cluster.loop.outside(1.0, faults.outage, 5.0)
        times = []
        with pytest.raises(Unreachable):
            await anext(client.watch(CONFIGMAPS, resource_version="1"))
        times.append(cluster.loop.now)
        with pytest.raises(Unreachable):
            await client.create(CONFIGMAPS, "team", {"metadata": {"name": "a"}})
        await asyncio.sleep(5.0)
        await client.create(CONFIGMAPS, "team", {"metadata": {"name": "a"}})
        return times

    assert cluster.run(main()) == [1.0]
