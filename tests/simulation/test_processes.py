"""The real controller as a simulated process: it starts, crashes, freezes, and runs the same again.

Each run is a whole life of a process in virtual time.
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from controller.replica import Replica
from shared.api.objects import APPWRAPPERS, NAMESPACES
from shared.config.configuration import Configuration
from shared.process.sources import Sources
from tests.simulation.api.client import SimulatedClient
from tests.simulation.api.kinds import JOBS
from tests.simulation.choices import Choices, Drawn, Recorded
from tests.simulation.cluster import Cluster
from tests.simulation.faults import WRITE_FAULTS, Faults, odds
from tests.simulation.loop import VirtualClock
from tests.simulation.processes import Processes
from tests.support.builders.appwrappers import appwrapper, phase
from tests.support.builders.jobs import job

_JOB = {**job("j"), "metadata": {"generateName": "j-"}}
CONFIG = {"controllerManager": {"health": {"bindAddress": "0"}, "metrics": {"bindAddress": "0"}}}


class _Run:
    """One run: one AppWrapper that may run, and two minutes in which faults may happen."""

    def __init__(self, choices: Choices, seconds: float = 40.0) -> None:
        self.cluster = Cluster(choices)
        rates = {"write": odds("write", 0.3), "event": odds("event", 0.1)}
        self.faults = Faults(self.cluster, until=120.0, odds=rates)
        self.processes = Processes(self.cluster, self.faults, self._program)
        self._seconds = seconds
        self.cluster.run(self._main())

    @property
    def phase(self) -> str:
        return phase(self.cluster.store.items(APPWRAPPERS)[0])

    async def _program(self, client: SimulatedClient, clock: VirtualClock) -> None:
        sources = Sources(clock, Random(1), lambda call, _: call(), "controller")
        config = Configuration.model_validate(CONFIG)
        await Replica(client, config, sources=sources).run(asyncio.Event())

    async def _main(self) -> None:
        store = self.cluster.store
        store.create(NAMESPACES, None, {"metadata": {"name": "team1"}})
        self.processes.start("controller")
        await asyncio.sleep(1.0)
        body = appwrapper("a", _JOB)
        store.create(APPWRAPPERS, "team1", {**body, "spec": {**body["spec"], "suspend": False}})
        await asyncio.sleep(self._seconds)
        await self.processes.stop()


def _line_of(run: _Run, text: str) -> float:
    """Return the time of the only line that begins with `text`."""
    split = [each.split(maxsplit=1) for each in run.cluster.trace]
    [found] = [seconds for seconds, line in split if line.startswith(text)]
    return float(found)


def test_the_real_controller_starts_and_creates_a_component() -> None:
    run = _Run(Recorded())
    assert run.phase == "Running"
    assert len(run.cluster.store.items(JOBS)) == 1
    assert run.processes.ended == []


def test_a_process_that_crashes_before_a_write_starts_again_and_writes() -> None:
    run = _Run(Recorded({("write POST jobs/j-#####", 1): WRITE_FAULTS.index("crash before")}))
    assert run.processes.crashes == 1
    assert len(run.cluster.store.items(JOBS)) == 1
    assert _line_of(run, "start controller.2") == pytest.approx(
        _line_of(run, "crash controller: before") + 1.0
    )


def test_a_late_write_takes_effect_after_its_sender_died() -> None:
    run = _Run(Recorded({("write POST jobs/j-#####", 1): WRITE_FAULTS.index("late 6")}))
    crash = _line_of(run, "crash controller: while")
    assert _line_of(run, "controller POST jobs") == pytest.approx(crash + 6.0)


def test_a_frozen_process_sends_nothing_until_it_wakes() -> None:
    run = _Run(Recorded({("write PATCH appwrappers/a", 1): WRITE_FAULTS.index("freeze 20")}))
    frozen, awake = _line_of(run, "freeze controller"), _line_of(run, "wake controller")
    assert awake == pytest.approx(frozen + 20.0)
    times = [float(line.split()[0]) for line in run.cluster.trace if " controller P" in line]
    assert not [each for each in times if frozen < each < awake]
    assert max(times) > awake


@pytest.mark.timeout(300)  # it imports the product once more
def test_equal_choices_give_equal_digests_in_every_process() -> None:
    here = _Run(Drawn(7), 130.0).cluster.digest
    assert here != _Run(Drawn(8), 130.0).cluster.digest
    program = f"from {__name__} import _Run, Drawn; print(_Run(Drawn(7), 130.0).cluster.digest)"
    another = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    there = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": another},
        check=True,
        capture_output=True,
        text=True,
    )
    assert there.stdout.strip() == here
