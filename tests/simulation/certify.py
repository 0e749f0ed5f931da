"""Exhaust a small world: `make certify`.

Five searches, in worker processes:

- the pure machine: every state of real facts, `decide` and its plan in a tiny environment;
- single faults: every fault at every write that `make test` leaves out, failed reads, broken
  watches and late events, of every scenario;
- crashes: in the small worlds, a grave fault at every write after a crash at every write; each
  state after a crash once;
- other clients: in the small worlds and some scenarios, another client acts right after a write;
- pairs: in the small worlds, two deviations of any kind that are near each other.

It prints states, transitions, violations and seconds, with a hash of the product's code.
The exit code is 1 if a promise is broken.
"""

import argparse
import gc
import hashlib
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.simulation.abstract import START, State, is_goal, steps_from
from tests.simulation.choices import Recorded
from tests.simulation.explore import (
    AT_WRITES,
    CRASHES,
    LATE_EVENTS,
    LATE_EVENTS_OF,
    OTHERS,
    Report,
    Space,
    Trial,
    next_trials,
    run,
)
from tests.simulation.faults import OTHER_CLIENTS, WRITE_FAULTS
from tests.simulation.graph import explore, traps
from tests.simulation.scenarios import FAILS_ONCE, SCENARIOS, Act, Scenario
from tests.simulation.script import regression, script
from tests.simulation.shrink import breaks, shrunk
from tests.simulation.simulate import prepare
from tests.simulation.workloads import config_map, job, wrapped
from tests.simulation.world import World

OTHER_FAULTS: Final[Space] = {
    "write": frozenset(WRITE_FAULTS[1:]) - AT_WRITES["write"] - OTHER_CLIENTS,
    "read": frozenset({"lost answer", "500"}),
    "watch": frozenset({"cut 3", "silent", "410"}),
    "event": frozenset({6.0, 40.0}),
}
"""Single faults that `make test` does not run, or not for every scenario."""
CRASH: Final[Space] = {"write": CRASHES}
AFTER_A_CRASH: Final[Space] = {"write": CRASHES | {"lost answer", "late 6", "ghost 6"}}
PAIRS: Final[Space] = {
    "write": frozenset({"lost answer", "409", "ghost 6", "freeze 20"}),
    "event": frozenset({6.0}),
    **dict.fromkeys(("job", "kubelet", "garbage", "kueue"), frozenset({3})),  # the longest delay
}
WITHIN: Final = 8  # places: the delay bound of pairs
_BATCH: Final = 20


def _small(name: str, *acts: Act, **fate: str) -> Scenario:
    """Return a world of one AppWrapper, two components, two pods and one retry."""
    body = wrapped("a", config_map("c"), job(**fate), periods={"retryLimit": "1"})
    return Scenario(name, ((1.0, body),), acts, faults_until=25.0)


_WORLDS: Final = (
    _small("small: retry", **FAILS_ONCE),
    _small("small: suspend", Act(4.5, "evict", "a")),
    _small("small: delete", Act(4.5, "delete", "a")),
)
SMALL: Final[Mapping[str, Scenario]] = {each.name: each for each in _WORLDS}
# Scenarios whose writes another client follows: each has phases that the small worlds lack.
MEDDLED: Final = (
    "early held",
    "evacuation",
    "kept component",
    "no webhook",
    "delete while it waits",
    "deletion on failure grace",
    "PyTorchJob, retry",
    "RayCluster",
)
# Bounds of the pure machine: each is one search.
BOUNDS: Final[Mapping[str, State]] = {
    "two failures": replace(START, evictions=0, deletions=0),
    "an eviction": replace(START, failures=0, deletions=0),
    "a deletion": replace(START, failures=0, evictions=0),
}


@dataclass(slots=True)
class Search:
    """The totals of one search. `possible`: the transitions without its bounds; 0: the same."""

    states: int = 0
    transitions: int = 0
    possible: int = 0
    seconds: float = 0.0
    found: list[tuple[Trial, str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def code_hash() -> str:
    """Return a hash of the product's files that a certificate covers."""
    listing = ["git", "ls-files", "controller", "shared"]
    names = subprocess.run(listing, check=True, capture_output=True, text=True).stdout.splitlines()
    digest = hashlib.sha256()
    for name in sorted(names):
        path = Path(name)
        if path.exists():
            digest.update(f"{name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def other_faults(scenario: Scenario) -> Space:
    """Return the single faults of a scenario that `make test` does not run."""
    if scenario.name not in LATE_EVENTS_OF:
        return OTHER_FAULTS
    return {**OTHER_FAULTS, "event": OTHER_FAULTS["event"] - LATE_EVENTS["event"]}


def pure_machine(bound: str) -> Search:
    """Search the pure machine within one bound."""
    began = time.process_time()
    graph = explore(BOUNDS[bound], steps_from)
    search = Search(len(graph.states), graph.steps)
    for promise, (number, step) in graph.wrong.items():
        search.wrong.append("\n  ".join([f"{promise} ({bound}):", *graph.path(number), step]))
    for number in traps(graph, is_goal):
        search.wrong.append("\n  ".join([f"it waits forever ({bound}):", *graph.path(number)]))
    search.seconds = time.process_time() - began
    return search


_known: dict[str, set[str]] = defaultdict(set)
"""By search, the states after crashes that this worker process explored."""


def run_batch(search: str, trials: Sequence[Trial]) -> tuple[list[Report], float]:
    """Run some trials in a worker process. Return their reports and the CPU seconds."""
    began = time.process_time()
    reports = [run(each, _known[search]) for each in trials]
    # Not after each run: the pure machine's search left this process a large heap to look through.
    gc.collect()
    return reports, time.process_time() - began


def bases(scenarios: Iterable[Scenario]) -> list[Report]:
    """Run the scenarios without a fault."""
    return [run(Trial(each), set()) for each in scenarios]


class Certificate:
    """Runs the searches and keeps their results."""

    def __init__(self, pool: ProcessPoolExecutor, progress: Progress, workers: int) -> None:
        self.searches: dict[str, Search] = {}
        self._pool = pool
        self._progress = progress
        self._ahead = 2 * workers

    def machine(self) -> None:
        """Search the pure machine, each bound in a process."""
        search = self.searches["pure machine"] = Search()
        task = self._progress.add_task("pure machine", total=len(BOUNDS))
        for each in self._pool.map(pure_machine, BOUNDS):
            search.states += each.states
            search.transitions += each.transitions
            search.seconds += each.seconds
            search.wrong += each.wrong
            self._progress.advance(task)

    def singles(
        self, name: str, scenarios: Iterable[Scenario], space: Callable[[Scenario], Space]
    ) -> None:
        """Run every single deviation of the scenarios within the space of each."""
        trials = [
            trial
            for base in bases(scenarios)
            for trial in next_trials(base, space(base.trial.scenario))
        ]
        self._run(name, trials, lambda _report: ())

    def crashes(self, scenarios: Iterable[Scenario]) -> None:
        """Run every fault at every write after every crash, each state after a crash once."""
        explored: set[str] = set()

        def then(report: Report) -> Iterator[Trial]:
            is_new = not report.is_known and report.state not in explored
            if is_new and len(report.trial.deviations) == 1:
                explored.add(report.state)
                yield from next_trials(report, AFTER_A_CRASH)

        trials = [trial for base in bases(scenarios) for trial in next_trials(base, CRASH)]
        self._run("a crash, then a fault", trials, then)

    def pairs(self, scenarios: Iterable[Scenario]) -> None:
        """Run pairs of deviations that are at most WITHIN places apart."""
        possible = Counter[str]()

        def then(report: Report) -> Iterator[Trial]:
            if len(report.trial.deviations) == 1:
                possible["pairs"] += sum(1 for _ in next_trials(report, PAIRS))
                yield from next_trials(report, PAIRS, WITHIN)

        trials = [trial for base in bases(scenarios) for trial in next_trials(base, PAIRS)]
        search = self._run("pairs near each other", trials, then)
        search.possible = possible["pairs"] + len(trials)

    def _run(
        self, name: str, trials: Sequence[Trial], then: Callable[[Report], Iterable[Trial]]
    ) -> Search:
        search = self.searches[name] = Search()
        states: set[str] = set()
        task = self._progress.add_task(name, total=len(trials))
        waiting, running = list(trials), set[Future[tuple[list[Report], float]]]()
        while waiting or running:
            while waiting and len(running) < self._ahead:
                running.add(self._pool.submit(run_batch, name, waiting[:_BATCH]))
                waiting = waiting[_BATCH:]
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                reports, seconds = each.result()
                search.seconds += seconds
                for report in reports:
                    search.transitions += 1
                    states.add(report.state)
                    self._note(search, report)
                    waiting += then(report)
                total = search.transitions + len(waiting) + _BATCH * len(running)
                self._progress.update(task, completed=search.transitions, total=total)
        search.states = len(states - {""})
        return search

    def _note(self, search: Search, report: Report) -> None:
        for kind in dict.fromkeys(each.kind for each in report.violations):
            search.found.append((report.trial, kind))
            first = next(each for each in report.violations if each.kind == kind)
            self._progress.console.print(f"{report.trial}\n    {first}", markup=False)


def explain(trial: Trial, kind: str) -> str:
    """Return the script and the regression test of a failing trial, shrunk."""
    scenario = trial.scenario
    fails = breaks(lambda choices: World(choices, scenario).run(), kind)
    few = shrunk(dict(trial.deviations), fails)
    outcome = World(Recorded(few), scenario, keep_trace=True).run()
    first = next(each for each in outcome.violations if each.kind == kind)
    table = "SMALL" if scenario.name in SMALL else "SCENARIOS"
    test = regression(f'{table}["{scenario.name}"]', few, first)
    return f"{script(outcome)}\n\n{test}"


def table(searches: Mapping[str, Search]) -> Iterator[str]:
    """Yield the lines of the result."""
    yield f"{'search':24}{'states':>10}{'transitions':>13}{'violations':>12}{'CPU s':>8}"
    for name, each in searches.items():
        broken = len(each.found) + len(each.wrong)
        line = f"{name:24}{each.states:10}{each.transitions:13}{broken:12}{each.seconds:8.0f}"
        yield line + (f"  of {each.possible}" if each.possible else "")


def certify(workers: int, only: str) -> Mapping[str, Search]:
    """Run the searches; with `only` the one whose name begins so."""
    console = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    context = get_context("fork")
    with (
        ProcessPoolExecutor(workers, context, initializer=prepare) as pool,
        Progress(*columns, TimeElapsedColumn(), console=console) as progress,
    ):
        certificate = Certificate(pool, progress, workers)
        searches: dict[str, Callable[[], None]] = {
            "machine": certificate.machine,
            "singles": lambda: certificate.singles(
                "single faults", SCENARIOS.values(), other_faults
            ),
            "others": lambda: certificate.singles(
                "other clients",
                [*SMALL.values(), *map(SCENARIOS.__getitem__, MEDDLED)],
                lambda _scenario: OTHERS,
            ),
            "crashes": lambda: certificate.crashes(SMALL.values()),
            "pairs": lambda: certificate.pairs(SMALL.values()),
        }
        for name, search in searches.items():
            if name.startswith(only):
                search()
    return certificate.searches


def main() -> int:
    """Return the exit code: 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.certify", description=__doc__)
    parser.add_argument("--workers", type=int, default=2, help="worker processes")
    parser.add_argument("--only", default="", help="machine, singles, others, crashes or pairs")
    options = parser.parse_args()
    began = time.monotonic()
    searches = certify(options.workers, options.only)
    print("\n".join(table(searches)))
    print(f"code {code_hash()} (controller, shared), {time.monotonic() - began:.0f} s")
    shown: set[str] = set()
    for search in searches.values():
        for text in search.wrong:
            print(f"\n{text}")
        for trial, kind in search.found:
            if kind not in shown:  # one script of each kind
                shown.add(kind)
                print(f"\n{trial}\n{explain(trial, kind)}")
    return 1 if any(each.found or each.wrong for each in searches.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
