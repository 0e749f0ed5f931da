"""A controller behind a proxy that injects faults, and one that is killed at its writes.

The simulation injects each fault at every write; here the parts are real. In this file a controller
of its own replaces the cluster's, without a lease: the file runs one process at a time, and after
each kill a lease would make the next process wait for ten seconds.
"""

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
import pytest_asyncio

from localcluster.cluster import LocalCluster
from tests.support.cluster.controller_process import ControllerProcess, controller
from tests.support.cluster.crashes import controller_away
from tests.support.cluster.fault_proxy import Fault, FaultProxy, Rule, Sent
from tests.support.cluster.faulty_lives import CreatedJobs, lived
from tests.support.cluster.lives import Lives

pytestmark = pytest.mark.long

KILLS = 20


@dataclass(frozen=True)
class Behind:
    """A controller and the proxy in front of it."""

    proxy: FaultProxy
    process: ControllerProcess


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def behind(
    cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Behind]:
    folder = tmp_path_factory.mktemp("behind")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(controller_away(cluster))
        proxy = await stack.enter_async_context(
            FaultProxy(cluster.access.server, cluster.access.authority, folder)
        )
        process = await stack.enter_async_context(
            controller(cluster, folder, proxy.url, authority=proxy.authority, lease=False)
        )
        await process.becomes("/readyz")
        yield Behind(proxy, process)


def is_decision(sent: Sent) -> bool:
    """True for a write, except for an Event: its loss changes nothing."""
    return sent.is_write and sent.plural != "events"


def every_third(fault: Fault, applies: Callable[[Sent], bool] = is_decision) -> Callable[[], Rule]:
    def rule() -> Rule:
        seen = 0

        def of(sent: Sent) -> Fault | None:
            nonlocal seen
            seen += applies(sent)
            return fault if applies(sent) and seen % 3 == 0 else None

        return of

    return rule


def each_watch(fault: Fault) -> Callable[[], Rule]:
    return lambda: lambda sent: fault if sent.is_watch else None


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        pytest.param("conflict", every_third(Fault(answer=409)), id="conflict"),
        pytest.param(
            "busy", every_third(Fault(answer=429), lambda sent: not sent.is_watch), id="busy"
        ),
        pytest.param("error", every_third(Fault(answer=500)), id="error"),
        pytest.param("lost", every_third(Fault(lost=True)), id="lost"),
        pytest.param("late", every_third(Fault(late=0.5)), id="late"),
        pytest.param("cut", each_watch(Fault(watch_cut_after=3)), id="cut"),
        pytest.param("delayed", each_watch(Fault(watch_delay=0.5)), id="delayed"),
        pytest.param("twice", each_watch(Fault(watch_twice=True)), id="twice"),
    ],
)
async def test_with_faulty_answers_or_watches_lives_end_as_without_and_nothing_is_made_twice(
    behind: Behind, lives: Lives, kind: str, rule: Callable[[], Rule]
) -> None:
    fired = behind.proxy.fired
    behind.proxy.rule = rule()
    behind.proxy.cut_watches()
    async with CreatedJobs(lives.client) as made:
        try:
            await lived(lives, made, f"fault-{kind}")
        finally:
            behind.proxy.rule = lambda _: None
            behind.proxy.cut_watches()
    assert behind.proxy.fired >= fired + 3
    assert behind.process.child.exit_code is None, behind.process.output
    assert behind.process.words.complaints() == []


class Killer:
    """Kills the process at chosen writes, before or after they reach the server."""

    def __init__(self, process: ControllerProcess, kills: int) -> None:
        self._process = process
        self._dying = False
        self._writes = 0
        # The write's number since the start, and whether the server gets it.
        self.left = [(1 + number % 3, number % 2 == 1) for number in range(kills)]

    def rule(self, sent: Sent) -> Fault | None:
        if self._dying or not self.left or not is_decision(sent):
            return None
        self._writes += 1
        number, reaches = self.left[0]
        if self._writes < number:
            return None
        del self.left[0]
        self._dying = True
        if reaches:
            return Fault(lost=True, acted=self._kill)
        self._kill()
        return Fault(unsent=True)

    def _kill(self) -> None:
        self._process.child.on_exit(self._begin_again)
        self._process.child.signal(signal.SIGKILL)

    def _begin_again(self) -> None:
        self._dying, self._writes = False, 0
        self._process.start()


async def test_killed_at_twenty_writes_lives_end_as_without_and_nothing_is_made_twice(
    behind: Behind, lives: Lives
) -> None:
    killer = Killer(behind.process, KILLS)
    behind.proxy.rule = killer.rule
    number = 0
    async with CreatedJobs(lives.client) as made:
        while killer.left:
            number += 1
            await lived(lives, made, f"killed-{number}")
    assert behind.process.words.complaints() == []
