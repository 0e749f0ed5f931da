"""One of several processes that compete for a lease leads, and another takes over in time.

The real `Leadership` in virtual time, against the simulated API server.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

import pytest

from controller.runtime.leadership import Leadership, NotLeading, StillWriting
from shared.api.names import GO_OPERATORS_LEASE, LEASE_NAME
from shared.api.objects import CONFIGMAPS, LEASES, NAMESPACES, JsonObject
from shared.kube.requests import Request, create, get
from shared.process.sources import Sources
from tests.simulation.api.client import SimulatedClient
from tests.simulation.choices import Recorded
from tests.simulation.cluster import Cluster
from tests.simulation.faults import Faults
from tests.simulation.loop import VirtualClock
from tests.simulation.processes import Processes

HOME = "appwrapper-system"
WRITE = create(CONFIGMAPS, HOME, {"metadata": {"name": "a"}})


@dataclass(slots=True)
class Term:
    """`ended` is None while the term goes on."""

    name: str
    began: float
    ended: float | None = None


class Competition:
    """Processes whose writers do nothing but ask for permits. They end on request if `obeys`."""

    def __init__(self, *, obeys: bool = True) -> None:
        self.cluster = Cluster(Recorded())
        self.faults = Faults(self.cluster)
        self.processes = Processes(self.cluster, self.faults, self._program)
        self.members: dict[str, Leadership] = {}
        self.stops: dict[str, asyncio.Event] = {}
        self.terms: list[Term] = []
        self.ends: dict[str, BaseException | None] = {}
        self._obeys = obeys
        self.cluster.store.create(NAMESPACES, None, {"metadata": {"name": HOME}})

    @property
    def now(self) -> float:
        return self.cluster.loop.now

    async def _program(self, client: SimulatedClient, clock: VirtualClock) -> None:
        sources = Sources(clock, Random(client.name), lambda call, _: call(), client.name)
        self.members[client.name] = member = Leadership(client, HOME, sources)
        self.stops[client.name] = stop = asyncio.Event()

        async def lead() -> None:
            term = Term(client.name, self.now)
            self.terms.append(term)
            try:
                await stop.wait()
            except asyncio.CancelledError:
                if not self._obeys:
                    await asyncio.sleep(60.0)
                raise
            finally:
                term.ended = self.now

        await member.run(lead, stop)

    def may_write(self, name: str) -> bool:
        try:
            self.members[name].permit(WRITE)
        except NotLeading:
            return False
        return True

    def end(self, name: str) -> Callable[[], None]:
        """Return a stop request to this process."""
        return lambda: self.stops[name].set()

    def answer_as_a_proxy(self) -> None:
        """Answer all requests of the members, from now on, with an object that is no Lease."""

        async def send(_request: Request, *, retry: bool = True) -> JsonObject:
            return {"status": "maintenance"}

        for member in self.members.values():
            member._client.send = send  # type: ignore[assignment, method-assign]

    def hold_by_go(self, renewed: str, seconds: int = 15) -> None:
        """Write the Go operator's lease as its client does."""
        spec = {"holderIdentity": "go-1", "renewTime": renewed, "leaseDurationSeconds": seconds}
        store = self.cluster.store
        if found := store.get(LEASES, HOME, GO_OPERATORS_LEASE):
            store.update(LEASES, HOME, found["metadata"]["name"], {**found, "spec": spec})
        else:
            store.create(LEASES, HOME, {"metadata": {"name": GO_OPERATORS_LEASE}, "spec": spec})


def lived(
    competition: Competition, *acts: tuple[float, Callable[[], object]], seconds: float = 60.0
) -> None:
    """Start `a`, and a second later `b`; call each act at its second."""

    failures: list[object] = []
    loop = competition.cluster.loop
    loop.set_exception_handler(lambda _, context: failures.append(context))

    async def main() -> None:
        competition.processes.start("a")
        loop.outside(1.0, competition.processes.start, "b")
        for at, act in acts:
            loop.outside(at, act)
        await asyncio.sleep(seconds)
        await competition.processes.stop()

    competition.cluster.run(main())
    assert failures == []


@pytest.mark.parametrize("tenths", range(0, 20, 3))
def test_after_a_crash_another_leads_within_13_seconds_and_not_before_10(tenths: int) -> None:
    competition = Competition()
    crash = 20.0 + tenths / 10
    lived(competition, (crash, lambda: competition.processes.crash("a", "a test")))
    first, second = competition.terms[:2]
    assert (first.name, second.name) == ("a", "b")
    # The last renewal was up to two seconds before the crash.
    assert 8.0 <= second.began - crash <= 13.0


@pytest.mark.parametrize("tenths", range(0, 20, 3))
def test_a_leader_that_ends_by_itself_is_followed_within_3_seconds(tenths: int) -> None:
    competition = Competition()
    end = 20.0 + tenths / 10
    lived(competition, (end, lambda: competition.stops["a"].set()))
    first, second = competition.terms
    assert (first.name, second.name) == ("a", "b")
    assert first.ended is not None
    assert end <= first.ended <= second.began <= end + 3.0


@pytest.mark.parametrize("tenths", range(20))
def test_a_leader_that_ends_during_a_slow_renewal_is_followed_within_3_seconds(tenths: int) -> None:
    competition = Competition()
    competition.faults.latency = lambda: 0.3  # type: ignore[method-assign]
    end = 20.0 + tenths / 10
    lived(competition, (end, competition.end("a")))
    assert competition.terms[1].name == "b"
    assert end <= competition.terms[1].began <= end + 3.0


def test_a_leader_of_a_slow_api_server_has_time_to_release_the_lease() -> None:
    """Without its release the next one would have to wait for 10 s."""
    competition = Competition()
    competition.faults.latency = lambda: 1.2  # type: ignore[method-assign]
    lived(competition, (30.0, competition.end("a")))
    assert competition.terms[1].name == "b"
    assert 30.0 <= competition.terms[1].began <= 30.0 + 9.0


def test_a_frozen_leader_may_not_write_when_it_wakes_though_it_does_not_know_yet() -> None:
    competition = Competition()
    seen: dict[str, tuple[bool, bool]] = {}

    def look(when: str) -> None:
        seen[when] = (competition.may_write("a"), competition.may_write("b"))

    lived(
        competition,
        (20.0, lambda: look("before")),
        (20.1, lambda: competition.processes.freeze("a", 30.0)),
        (26.0, lambda: look("while both could")),
        (28.0, lambda: look("past the deadline")),
        (45.0, lambda: look("taken over")),
        (50.2, lambda: look("awake")),
    )
    assert seen == {
        "before": (True, False),
        "while both could": (True, False),
        "past the deadline": (False, False),
        "taken over": (False, True),
        "awake": (False, True),
    }
    assert [each.name for each in competition.terms] == ["a", "b"]
    competition.members["a"].permit(get(CONFIGMAPS, HOME, "a"))


def test_a_renewal_that_is_answered_late_counts_from_its_request() -> None:
    """The process is frozen just after a renewal arrived, and gets the answer when it wakes."""
    before = Competition()
    lived(before, seconds=25.0)
    arrivals = [float(line.split()[0]) for line in before.cluster.trace if "a PUT leases" in line]
    freeze = arrivals[-1] + 0.0005
    competition = Competition()
    seen: list[tuple[bool, bool]] = []

    def look() -> None:
        seen.append((competition.may_write("a"), competition.may_write("b")))

    lived(
        competition,
        (freeze, lambda: competition.processes.freeze("a", 14.0)),
        (freeze + 14.001, look),
        (freeze + 14.05, look),
    )
    assert seen == [(False, True), (False, True)]


def test_without_an_api_server_the_leader_stops_after_7_seconds_and_leads_again_later() -> None:
    competition = Competition()
    lived(competition, (20.05, lambda: competition.faults.outage(30.0)), seconds=80.0)
    first, second = competition.terms
    assert first.ended is not None
    assert 25.0 <= first.ended <= 27.1
    assert 50.0 <= second.began <= 55.0


def test_a_short_outage_changes_no_leader() -> None:
    competition = Competition()
    lived(competition, (20.05, lambda: competition.faults.outage(4.0)))
    assert [each.name for each in competition.terms] == ["a"]


@pytest.mark.parametrize("latency", [1.1, 2.5])
@pytest.mark.parametrize("begins", [0.0, 15.0])
def test_a_slow_api_server_prevents_and_ends_no_term(latency: float, begins: float) -> None:
    competition = Competition()
    slow = lambda: latency if competition.now >= begins else 0.001  # noqa: E731
    competition.faults.latency = slow  # type: ignore[method-assign]
    lived(competition, seconds=60.0)
    [term] = competition.terms
    assert term.name == "a"
    assert term.began <= 10.0
    assert term.ended == 60.0


@pytest.mark.parametrize("hangs", range(20, 24))
def test_one_renewal_that_hangs_ends_no_term(hangs: int) -> None:
    competition = Competition()
    lost = lambda: 100.0 if hangs <= competition.now < hangs + 2.5 else 0.001  # noqa: E731
    competition.faults.latency = lost  # type: ignore[method-assign]
    lived(competition)
    assert [each.name for each in competition.terms] == ["a"]


def test_writers_that_do_not_stop_end_the_process() -> None:
    competition = Competition(obeys=False)
    lived(competition, (20.05, lambda: competition.faults.outage(30.0)), seconds=32.0)
    [(name, error)] = competition.processes.ended
    assert name == "a"
    assert isinstance(error, StillWriting)
    assert str(error) == "writers have not stopped 2 s after the lease ended"


def test_while_writers_do_not_stop_the_lease_is_not_released() -> None:
    competition = Competition(obeys=False)
    lived(competition, (20.0, lambda: competition.hold_by_go("now")), seconds=40.0)
    assert isinstance(competition.processes.ended[0][1], StillWriting)
    found = competition.cluster.store.get(LEASES, HOME, LEASE_NAME)
    assert found is not None
    assert found["spec"]["holderIdentity"] == competition.members["a"].identity


def test_a_client_that_changes_the_lease_ends_no_term() -> None:
    competition = Competition()

    def annotate() -> None:
        store = competition.cluster.store
        found = store.get(LEASES, HOME, LEASE_NAME)
        assert found is not None
        metadata = {**found["metadata"], "annotations": {"by": "an admin"}}
        store.update(LEASES, HOME, LEASE_NAME, {**found, "metadata": metadata})

    def delete() -> None:
        competition.cluster.store.delete(LEASES, HOME, LEASE_NAME)

    lived(competition, (20.0, annotate), (30.0, delete))
    assert [each.name for each in competition.terms] == ["a"]
    [lease] = competition.cluster.store.items(LEASES)
    assert lease["spec"]["holderIdentity"] == competition.members["a"].identity


@pytest.mark.parametrize("twentieths", range(0, 40, 3))
def test_after_the_lease_is_deleted_no_two_processes_may_write(twentieths: int) -> None:
    competition = Competition()
    both: list[float] = []

    def look() -> None:
        if competition.may_write("a") and competition.may_write("b"):
            both.append(competition.now)

    deleted = 20.0 + twentieths / 20
    looks = [(deleted + each / 10, look) for each in range(1, 60)]
    delete = partial(competition.cluster.store.delete, LEASES, HOME, LEASE_NAME)
    lived(competition, (deleted, delete), *looks, seconds=40.0)
    assert both == []


def test_a_lease_that_its_dead_holder_left_deleted_is_taken() -> None:
    competition = Competition()

    def die() -> None:
        competition.processes.freeze("a", 60.0)
        competition.cluster.store.delete(LEASES, HOME, LEASE_NAME)

    lived(competition, (20.0, die))
    assert [each.name for each in competition.terms] == ["a", "b"]
    assert 28.0 <= competition.terms[1].began <= 33.0


def test_an_answer_that_is_no_lease_ends_no_process() -> None:
    """A proxy before an API server that is away answers every request with a JSON object."""
    competition = Competition()
    lived(competition, (20.0, competition.answer_as_a_proxy), seconds=40.0)
    [term] = competition.terms
    assert term.ended is not None
    assert 25.0 <= term.ended <= 27.1
    assert competition.processes.ended == []


def test_another_holder_ends_the_term_at_the_next_renewal() -> None:
    competition = Competition()

    def steal() -> None:
        store = competition.cluster.store
        found = store.get(LEASES, HOME, LEASE_NAME)
        assert found is not None
        spec = {**found["spec"], "holderIdentity": "thief", "renewTime": "then"}
        store.update(LEASES, HOME, found["metadata"]["name"], {**found, "spec": spec})

    lived(competition, (20.0, steal), seconds=24.0)
    [term] = competition.terms
    assert term.ended is not None
    assert 20.0 <= term.ended <= 22.1


def test_no_process_leads_while_the_go_operator_renews_its_lease() -> None:
    competition = Competition()
    competition.hold_by_go("first")
    renewals = [(float(at), lambda at=at: competition.hold_by_go(f"at {at}")) for at in (10, 20)]
    lived(competition, *renewals, seconds=60.0)
    [term] = competition.terms
    assert 35.0 <= term.began <= 37.1


def test_a_go_operator_whose_lease_is_deleted_may_still_act_for_its_duration() -> None:
    competition = Competition()
    competition.hold_by_go("first")
    delete = partial(competition.cluster.store.delete, LEASES, HOME, GO_OPERATORS_LEASE)
    lived(competition, (5.0, delete), seconds=40.0)
    [term] = competition.terms
    assert 15.0 <= term.began <= 17.1


def test_a_leader_yields_to_a_go_operator_that_appears() -> None:
    competition = Competition()
    lived(competition, (20.0, lambda: competition.hold_by_go("now")), seconds=34.0)
    [term] = competition.terms
    assert term.ended is not None
    assert 20.0 <= term.ended <= 32.1
