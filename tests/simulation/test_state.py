"""Equal states after a crash have equal futures, so a state need not be explored twice."""

import re

from tests.simulation.certify import CRASH, SMALL
from tests.simulation.explore import Explored, Trial, next_trials, run


def future(trial: Trial) -> tuple[str, tuple[str, ...]]:
    """Return the state after the trial's last crash, and each event behind it with its time."""
    world = Explored(trial, set(), keep_trace=True)
    outcome = world.run()
    crash = max(place for place, line in enumerate(outcome.trace) if " crash " in line)
    began = float(outcome.trace[crash].split()[0])
    lines = []
    for line in outcome.trace[crash + 1 :]:
        at, text = line.split(maxsplit=1)
        if "events/" not in text:
            numberless = re.sub(r"\d+", "#", text)
            lines.append(f"{float(at) - began:.2f} {numberless}")
    return world.state, tuple(lines)


def test_two_lives_with_the_same_state_after_a_crash_go_on_alike() -> None:
    base = run(Trial(SMALL["small: delete"]), set())
    trials = list(next_trials(base, CRASH))[:6]
    again = [each for first in trials for each in next_trials(run(first, set()), CRASH)]
    seen: dict[str, tuple[str, ...]] = {}
    merged = 0
    for trial in again[::2]:
        state, events = future(trial)
        merged += state in seen
        assert seen.setdefault(state, events) == events, trial
    assert merged
