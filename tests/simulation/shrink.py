"""Shrink a failing run to few deviations: `python -m tests.simulation.shrink SEED [PROFILE]`.

The command shrinks one random world, and prints its script and its regression test.
"""

import argparse
import sys
from collections.abc import Callable, Mapping

from tests.simulation.choices import Choices, Recorded
from tests.simulation.outcome import Outcome
from tests.simulation.profiles import PROFILES, draw
from tests.simulation.script import regression, script
from tests.simulation.simulate import profile_of, random_world
from tests.simulation.world import World

Deviations = dict[tuple[str, int], int]


def shrunk(
    deviations: Mapping[tuple[str, int], int], fails: Callable[[Deviations], bool]
) -> Deviations:
    """Return fewer deviations that still fail, none of which can be left out or made smaller.

    `fails` runs the world with some deviations. Larger parts are left out first (ddmin).
    """
    kept = dict(deviations)
    size = max(1, len(kept) // 2)
    while True:
        smaller = _without_one_part(kept, size, fails)
        if smaller is not None:
            kept = smaller
        elif size == 1:
            break
        else:
            size //= 2
        size = max(1, min(size, len(kept) // 2))
    return _with_first_options(kept, fails)


def _without_one_part(
    kept: Deviations, size: int, fails: Callable[[Deviations], bool]
) -> Deviations | None:
    items = list(kept.items())
    for start in range(0, len(items), size):
        fewer = dict(items[:start] + items[start + size :])
        if fails(fewer):
            return fewer
    return None


def _with_first_options(kept: Deviations, fails: Callable[[Deviations], bool]) -> Deviations:
    for place, index in kept.items():
        for lower in range(1, index):
            if fails({**kept, place: lower}):
                kept = {**kept, place: lower}
                break
    return kept


def breaks(run: Callable[[Choices], Outcome], kind: str) -> Callable[[Deviations], bool]:
    """Return whether the run with some deviations breaks the promise `kind`."""
    return lambda deviations: kind in run(Recorded(deviations)).kinds()


def main() -> int:
    """Shrink one random world. Return 1 if it breaks a promise."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.shrink", description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("profile", choices=[*PROFILES], nargs="?")
    options = parser.parse_args()
    profile = options.profile or profile_of(options.seed)
    outcome = random_world(options.seed, profile)
    if not outcome.violations:
        print(f"seed {options.seed} ({profile}) breaks no promise")
        return 0

    def run(choices: Choices, *, keep_trace: bool = False) -> Outcome:
        return World(choices, draw(choices, profile), keep_trace=keep_trace).run()

    few = shrunk(outcome.deviations, breaks(run, outcome.violations[0].kind))
    print(script(run(Recorded(few), keep_trace=True)))
    print(regression(f'draw(choices, "{profile}")', few, outcome.violations[0]))
    return 1


if __name__ == "__main__":
    sys.exit(main())
