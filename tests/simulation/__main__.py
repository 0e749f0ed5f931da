"""Run random worlds: `python -m tests.simulation SEEDS`, or `make simulate SEEDS=n`.

It prints lives, faults by kind, violations and seconds. `--seed N` runs one world with its trace.
"""

import argparse
import sys
import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tests.simulation.profiles import PROFILES
from tests.simulation.simulate import Totals, profile_of, random_world, simulate


def main() -> int:
    """Return the exit code: 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seeds", type=int, nargs="?", default=200, help="how many worlds")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--workers", type=int, default=2, help="worker processes")
    parser.add_argument("--profile", choices=[*PROFILES], default="", help="of all seeds")
    parser.add_argument("--seed", type=int, help="run this seed alone, and print its trace")
    options = parser.parse_args()
    if options.seed is not None:
        return _show(options.seed, options.profile)
    seeds = range(options.first, options.first + options.seeds)
    return _run(seeds, options.workers, options.profile)


def _show(seed: int, profile: str) -> int:
    outcome = random_world(seed, profile, keep_trace=True)
    print("\n".join(outcome.trace))
    print(f"seed {seed} ({profile or profile_of(seed)}): {dict(outcome.ends)}")
    for each in outcome.violations:
        print(f"violation: {each}")
    return 1 if outcome.violations else 0


def _run(seeds: range, workers: int, profile: str) -> int:
    began, console = time.monotonic(), Console(stderr=True, highlight=False)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("worlds", total=len(seeds))

        def report(batch: Totals, totals: Totals) -> None:
            progress.update(task, completed=totals.worlds)
            for each in batch.found:
                progress.console.print(str(each), markup=False, soft_wrap=True)

        totals = simulate(seeds, workers, report, profile)
    _print(totals, time.monotonic() - began)
    return 1 if totals.found else 0


def _print(totals: Totals, seconds: float) -> None:
    print(f"{totals.worlds} worlds, {totals.lives} lives: {_counts(totals.ends)}")
    print(f"{sum(totals.faults.values())} faults: {_counts(totals.faults)}")
    kinds = {each.kind: 0 for each in totals.found}
    for each in totals.found:
        kinds[each.kind] += 1
    print(f"{len(totals.found)} violations" + (f": {_counts(kinds)}" if kinds else ""))
    hours = totals.virtual_seconds / 3600
    print(
        f"{seconds:.0f} s, {totals.seconds:.0f} s of CPU time, {hours:.0f} simulated hours, "
        f"{totals.lives / max(totals.seconds, 0.001):.1f} lives per CPU second"
    )


def _counts(counts: dict[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return ", ".join(f"{name} {count}" for name, count in ordered)


if __name__ == "__main__":
    sys.exit(main())
