"""The simulated processes: their start, crash, freeze, and wake."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from tests.simulation.api.client import SimulatedClient
from tests.simulation.cluster import Cluster
from tests.simulation.faults import Faults
from tests.simulation.loop import PROCESS, VirtualClock

Program = Callable[[SimulatedClient, VirtualClock], Coroutine[Any, Any, None]]
"""The main coroutine of a process, from its connection and its clock."""

RESTART_DELAYS: Final = (1.0, 0.05, 8.0, 40.0)
_REAP_TRIES: Final = 50


@dataclass(slots=True)
class _Life:
    """One life of a process, from its start to its crash."""

    client: SimulatedClient
    task: asyncio.Task[None]
    ahead: timedelta


class Processes:
    """Run `program` under several names. After a crash the process starts again.

    The lives of `a` are `a`, `a.2`, `a.3`; each is a `PROCESS` of its own. `ended` holds the names
    of processes that ended by themselves, each with its error.
    """

    def __init__(self, cluster: Cluster, faults: Faults, program: Program) -> None:
        self.crashes = 0
        self.ended: list[tuple[str, BaseException | None]] = []
        self._cluster = cluster
        self._faults = faults
        self._program = program
        self._lives: dict[str, _Life] = {}
        self._started: dict[str, int] = {}
        self._woke: dict[str, float] = {}  # when, by life
        self._is_stopping = False
        faults.crash = self.crash
        faults.freeze = self.freeze

    @property
    def running(self) -> list[str]:
        return list(self._lives)

    def start(self, name: str, ahead: timedelta = timedelta()) -> None:
        """Start a process whose wall clock is `ahead` of the API server's."""
        number = self._started.get(name, 0) + 1
        self._started[name] = number
        life = name if number == 1 else f"{name}.{number}"
        client = SimulatedClient(self._cluster, self._faults, life, ahead)
        clock = VirtualClock(self._cluster.loop, ahead)
        token = PROCESS.set(life)
        try:
            task = self._cluster.loop.create_task(self._program(client, clock), name=life)
        finally:
            PROCESS.reset(token)
        self._lives[life] = _Life(client, task, ahead)
        task.add_done_callback(lambda done: self._note_end(life, done))
        self._cluster.tell(f"start {life}")

    def crash(self, life: str, why: str) -> None:
        """End a process without any further word, and start it again after a picked delay."""
        ended = self._lives.get(life)
        if ended is None:
            return  # it crashed before
        self.crashes += 1
        self._cluster.tell(f"crash {life}: {why}")
        self._kill(life)
        name = life.partition(".")[0]
        delay = self._cluster.choices.pick(f"restart {name}", RESTART_DELAYS)
        self._faults.over_at = max(self._faults.over_at, self._cluster.loop.now + delay)
        self._cluster.loop.outside(delay, self._start_again, name, ended.ahead)

    def freeze(self, life: str, seconds: float) -> None:
        """Stop a process for a while. It does not know that it was stopped."""
        if life in self._lives and not self._cluster.loop.is_frozen(life):
            self._cluster.tell(f"freeze {life} for {seconds:g} s")
            self._cluster.loop.freeze(life)
            self._cluster.loop.outside(seconds, self._wake, life)

    async def stop(self) -> None:
        """Kill all processes, and wait until their tasks are gone."""
        self._is_stopping = True
        for life in self.running:
            self._kill(life)
        every = self._cluster.loop.tasks_of.values()
        while left := [task for tasks in every for task in tasks.values()]:
            await asyncio.wait(left)

    def _wake(self, life: str) -> None:
        if self._cluster.loop.is_frozen(life):
            self._cluster.tell(f"wake {life}")
            self._woke[life] = self._cluster.loop.now
            self._cluster.loop.wake(life)

    def slept(self, life: str | None) -> bool:
        """True if a freeze of this process ended less than a second ago."""
        woke = self._woke.get(life or "")
        return woke is not None and self._cluster.loop.now - woke < 1.0

    def _start_again(self, name: str, ahead: timedelta) -> None:
        if not self._is_stopping:
            self.start(name, ahead)

    def _kill(self, life: str) -> None:
        self._lives.pop(life).client.die()
        self._cluster.loop.wake(life)
        self._reap(life, _REAP_TRIES)

    def _reap(self, life: str, tries: int) -> None:
        """Cancel the tasks, again if one handles its cancellation: its requests never leave."""
        tasks = self._cluster.loop.tasks_of.get(life)
        if not tasks:
            return
        if not tries:
            raise AssertionError(f"tasks of {life} do not end: {list(tasks.values())}")
        for task in list(tasks.values()):
            task.cancel()
        self._cluster.loop.outside(0.001, self._reap, life, tries - 1)

    def _note_end(self, life: str, task: asyncio.Task[None]) -> None:
        """Record the end of a process that ended by itself."""
        error = None if task.cancelled() else task.exception()
        if self._lives.pop(life, None) is None:
            return
        self.ended.append((life, error))
        self._cluster.tell(f"{life} ended by itself: {error!r}")
