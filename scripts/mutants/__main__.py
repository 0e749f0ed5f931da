"""Try the mutants of tests/mutants.toml: `python -m scripts.mutants [--only PATTERN] [--again]`.

The exit code is 1 if a mutant survives that is not listed as equivalent, if one that is listed is
killed, or if a test that killed a mutant also fails on the unchanged tree. Verdicts are kept in
.cache/mutants.json until the mutated file or the tests change.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Final

from rich.console import Console

from localcluster.machine.interrupts import Interrupted, interruptible
from scripts.mutants.plan import BadMutant, Mutant, chosen, read
from scripts.mutants.report import Outcome, Verdict, offences, outcome_of
from scripts.mutants.run import Tree, load, save, try_all

ROOT: Final = Path(__file__).resolve().parents[2]
LIST: Final = ROOT / "tests" / "mutants.toml"
CACHE: Final = ROOT / ".cache" / "mutants.json"
WORKERS: Final = 2


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m scripts.mutants")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="try these names or files")
    parser.add_argument("--again", action="store_true", help="ignore the verdicts of earlier runs")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Return the exit code."""
    options, console = _options(arguments), Console(highlight=False)
    try:
        mutants = chosen(read(LIST.read_text()), options.only)
        tree = Tree(ROOT)
        kept = {} if options.again else load(CACHE)
        verdicts = {
            each.name: kept[each.name]
            for each in mutants
            if each.name in kept
            and kept[each.name].digest == tree.digest(each, kept[each.name].killer)
        }
        failing = _try(tree, [each for each in mutants if each.name not in verdicts], kept, console)
    except BadMutant as error:
        console.print(str(error), style="red", markup=False, soft_wrap=True)
        return 1
    except Interrupted:
        console.print("interrupted: the next run continues", style="red")
        return 130
    verdicts = {each.name: verdicts.get(each.name) or kept[each.name] for each in mutants}
    return _conclude(mutants, verdicts, failing, console)


def _try(
    tree: Tree, mutants: Sequence[Mutant], kept: dict[str, Verdict], console: Console
) -> str | None:
    """Try the mutants, print each verdict, and add it to `kept`."""
    if not mutants:
        return None
    numbers = count(1)

    def report(mutant: Mutant, verdict: Verdict) -> None:
        kept[mutant.name] = verdict
        save(CACHE, kept)
        end = verdict.killer or outcome_of(mutant, verdict).value
        line = f"{next(numbers)}/{len(mutants)} {verdict.seconds:5.1f} s  {mutant.name}: {end}"
        console.print(line, markup=False, soft_wrap=True)

    return interruptible(try_all(tree, mutants, WORKERS, report))


def _conclude(
    mutants: Sequence[Mutant],
    verdicts: Mapping[str, Verdict],
    failing: str | None,
    console: Console,
) -> int:
    outcomes = {each.name: outcome_of(each, verdicts[each.name]) for each in mutants}
    counts = Counter(outcomes.values())
    console.print("; ".join(f"{counts[each]} {each}" for each in Outcome if counts[each]))
    seconds = sum(each.seconds for each in verdicts.values())
    console.print(f"all verdicts, those kept from earlier runs too, took {seconds:.0f} s")
    problems = list(offences(mutants, outcomes, verdicts))
    if failing is not None:
        problems.append(f"{failing} also fails on the unchanged tree: mend it, then use --again")
    for text in problems:
        console.print(text, style="red", markup=False, soft_wrap=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
