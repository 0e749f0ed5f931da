"""Equal states after a crash have equal futures, so a state need not be explored twice."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

from tests.simulation.certify import CRASH, SMALL
from tests.simulation.explore import Explored, Trial, next_trials, run
from tests.simulation.faults import WRITE_FAULTS
from tests.simulation.state import WITHOUT_EFFECT


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


def test_a_write_that_waits_for_the_next_one_is_part_of_the_state() -> None:
    states = set()
    for fault in ("crash before", "late next"):
        deviation = ("write POST configmaps/c", 1), WRITE_FAULTS.index(fault)
        states.add(run(Trial(SMALL["small: delete"], (deviation,)), set()).state)
    assert len(states) == 2


def test_every_step_that_a_state_leaves_out_exists() -> None:
    found = set[str]()
    for path in Path(__file__).parent.rglob("*.py"):
        found.update(names_in(compile(path.read_text(), str(path), "exec")))
    assert found >= WITHOUT_EFFECT


def names_in(code: CodeType) -> Iterator[str]:
    """Yield the qualified name of every function in the code."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each.co_qualname
            yield from names_in(each)
