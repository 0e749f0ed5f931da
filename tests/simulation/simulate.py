"""Runs many random worlds in worker processes, and adds up their outcomes.

A seed is one world of a few AppWrappers. Successive seeds take the profiles in turn.
"""

import gc
import logging
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing import get_context

from localcluster.machine.interrupts import end_with_parent
from tests.simulation.choices import Drawn
from tests.simulation.outcome import Outcome
from tests.simulation.profiles import PROFILES, draw
from tests.simulation.world import World

_SEEDS_OF_A_BATCH = 16
_COLLECTED = 4  # worlds between two collections of garbage


@dataclass(frozen=True, slots=True)
class Found:
    """The first violation of one kind in one world."""

    profile: str
    seed: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"seed {self.seed} ({self.profile}), {self.text}"


@dataclass(slots=True)
class Totals:
    """The totals of some worlds. `seconds` are CPU seconds of the workers."""

    worlds: int = 0
    lives: int = 0
    virtual_seconds: float = 0.0
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)

    def add(self, other: "Totals") -> None:
        """Add the totals of other worlds."""
        self.worlds += other.worlds
        self.lives += other.lives
        self.virtual_seconds += other.virtual_seconds
        self.seconds += other.seconds
        self.faults += other.faults
        self.ends += other.ends
        self.found += other.found


def profile_of(seed: int) -> str:
    """Return the profile of a seed."""
    names = [*PROFILES]
    return names[seed % len(names)]


def random_world(seed: int, profile: str = "", *, keep_trace: bool = False) -> Outcome:
    """Run one random world; of its own profile, or of another one."""
    profile = profile or profile_of(seed)
    choices = Drawn(f"{profile} {seed}")
    return World(choices, draw(choices, profile), keep_trace=keep_trace).run()


def run_batch(seeds: range, profile: str) -> Totals:
    """Run some worlds one after the other. Collect garbage only between them."""
    began, totals = time.process_time(), Totals()
    for seed in seeds:
        outcome = random_world(seed, profile)
        totals.worlds += 1
        totals.lives += outcome.lives
        totals.virtual_seconds += outcome.virtual_seconds
        totals.faults += outcome.faults
        totals.ends.update(outcome.ends.values())
        for kind in outcome.kinds():
            first = next(each for each in outcome.violations if each.kind == kind)
            totals.found.append(Found(profile or profile_of(seed), seed, kind, str(first)))
        del outcome
        if totals.worlds % _COLLECTED == 0:
            gc.collect()
    totals.seconds = time.process_time() - began
    return totals


def simulate(
    seeds: range, workers: int, report: Callable[[Totals, Totals], None], profile: str = ""
) -> Totals:
    """Run all seeds. `report` receives each batch's totals, and those of all so far."""
    totals = Totals()
    batches = _batches(seeds)
    context = get_context("fork")
    with ProcessPoolExecutor(workers, context, initializer=prepare) as pool:
        running: set[Future[Totals]] = {
            pool.submit(run_batch, each, profile) for each in islice(batches, 2 * workers)
        }
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {
                pool.submit(run_batch, each, profile) for each in islice(batches, len(done))
            }
            for each in done:
                batch = each.result()
                totals.add(batch)
                report(batch, totals)
    return totals


def _batches(seeds: range) -> Iterator[range]:
    for start in range(seeds.start, seeds.stop, _SEEDS_OF_A_BATCH):
        yield range(start, min(start + _SEEDS_OF_A_BATCH, seeds.stop))


def prepare() -> None:
    """Prepare a worker: what is imported is never garbage, and a log has no other reader."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(5)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    gc.collect()
    gc.freeze()
    gc.disable()
